"""The flow linearised, and linear systems in its Jacobian, in linear time for any Q and K.

As `harmonic_linear`, at the queries of `general`. Second moments of x_j − x_k = Δ_j + e follow from
those of Δ_j. All of them are needed: βKᵀQ takes tangent vectors to vectors that are not tangent.
"""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import exp2
from parkade.engine.jacobian.harmonic_linear import Changes
from parkade.engine.jacobian.linearization import Linearization
from parkade.engine.jacobian.substitution import Equations, finish, finish_room
from parkade.engine.sums.basis import basis
from parkade.engine.sums.followers import Query, add_changed_followers, add_followers
from parkade.engine.sums.general import at_queries
from parkade.engine.sums.harmonic import begin_sums, make_room
from parkade.engine.sums.queries import (
    Ask,
    Places,
    add_changed,
    add_keys,
    is_lost,
    make_queries,
    safe_shift,
    set_queries,
)
from parkade.engine.sums.running import CHUNK, FOLD, Chunk, TokenGroup, fold
from parkade.engine.system import Dims, System
from parkade.engine.vectors import scalar, total


@njit(allocates=True, apart=True)
def linearize_rows(
    system: System, dims: Dims, beta_query: Array, x: Array, lin: Linearization, group: TokenGroup
) -> None:
    """What `linearize` does before `set_blocks`, for a group of tokens; see `rows`."""
    d = len(dims)
    lo, hi, ledger = group
    running, queries, room = begin_sums(system, dims), make_queries(d), make_room(d)
    series = at_queries(dims).make_series(system.table, system.lengths)
    far, far_second = np.empty((CHUNK, 2 + d)), np.empty((CHUNK, d, d))
    sums, second = np.empty(1 + d), np.empty((d, d))
    keys = Places(lin.keys, np.empty(0))
    fixed = Places(np.ascontiguousarray(system.frozen.T), system.frozen_weights)
    m, frozen = len(system.frozen_weights), total(system.frozen_weights)
    near, shortest = basis(dims).LEAVES_NEAR, at_queries(dims).SHORTEST
    for k0 in range(lo, hi, CHUNK):
        k1 = min(hi, k0 + CHUNK)
        if k0 % FOLD == 0:
            fold(running.state, ledger)
        set_queries(system, dims, x, k0, k1, queries)
        chunk = Chunk(x, k0, k1)
        at_queries(dims).far_second(running, series, queries, chunk, far, far_second)
        for k in range(k0, k1):
            i = k - k0
            own, ask = queries.sizes[2, i], Ask(queries.vectors[i], x[k], queries.sizes[1, i])
            sums[0] = far[i, 0]
            for c in range(d):
                y = queries.directions[i, c]
                e = y - x[k, c]
                first = far[i, 2 + c] + far[i, 1] * y  # Σ w Δ
                sums[1 + c] = first + far[i, 0] * e
                for b in range(d):
                    z = queries.directions[i, b]
                    other = far[i, 2 + b] + far[i, 1] * z
                    second[c, b] = far_second[i, c, b] + e * other + sums[1 + c] * (z - x[k, b])
            if near and k0 < k:
                add_keys(keys, ask, k0, k, room, sums, second)
            add_followers(
                system, Query(ask.vector, ask.x, 1.0, ask.shift), lin.keys, k, sums, second
            )
            lin.lone[k] = is_lost(sums[0], own, frozen + k, system.accuracy) or (
                queries.sizes[0, i] < shortest
            )
            if lin.lone[k]:
                ask = Ask(ask.vector, ask.x, safe_shift(keys, fixed, ask, k, k))
                own = exp2(-ask.shift)
                for c in range(1 + d):
                    sums[c] = 0.0
                for c in range(d):
                    for b in range(d):
                        second[c, b] = 0.0
                add_keys(keys, ask, 0, k, room, sums, second)
                add_keys(fixed, ask, 0, m, room, sums, second)
                add_followers(
                    system, Query(ask.vector, ask.x, 1.0, ask.shift), lin.keys, k, sums, second
                )
            inverse = 1.0 / (own + sums[0])
            lin.shares[0, k], lin.shares[1, k] = own * inverse, sums[0] * inverse
            lin.shares[2, k], lin.shares[3, k] = inverse, ask.shift
            for c in range(d):
                lin.mean[k, c] = inverse * sums[1 + c]
                query = 0.0
                for b in range(d):
                    query += beta_query[c, b] * x[k, b]
                lin.queries[k, c] = query
            for c in range(d):
                for b in range(d):
                    moment = inverse * second[c, b] - lin.mean[k, c] * lin.mean[k, b]
                    lin.moments[c, k, b] = moment
    if hi < x.shape[0]:
        fold(running.state, ledger)


@njit(allocates=True)
def solve_rows(
    system: System,
    dims: Dims,
    x: Array,
    equations: Equations,
    lo: int,
    hi: int,
    changes: Changes,
) -> None:
    """Solve for the tokens lo ≤ k < hi by forward substitution, as `harmonic_linear` does."""
    d = len(dims)
    lin, u = equations.lin, equations.u
    near = basis(dims).LEAVES_NEAR
    step = CHUNK if near else 1
    running, ledger = changes
    queries, room = make_queries(d), make_room(d)
    series = at_queries(dims).make_series(system.table, system.lengths)
    keys = Places(lin.keys, np.empty(0))
    far, sums, pushed = np.empty((CHUNK, 2 + d)), np.empty(1 + d), np.empty(d)
    work = finish_room(d, equations.inverses)
    v_scalar = scalar(system.value)
    for k0 in range(lo, hi, step):
        k1 = min(hi, k0 + step)
        if k0 % FOLD == 0:
            fold(running.state, ledger)
        set_queries(system, dims, x, k0, k1, queries)
        at_queries(dims).far_changes(running, series, queries, Chunk(x, k0, k1), u, far)
        for k in range(k0, k1):
            i = k - k0
            ask = Ask(queries.vectors[i], x[k], lin.shares[3, k])
            if lin.lone[k]:
                for c in range(1 + d):
                    sums[c] = 0.0
                add_changed(keys, ask, u, 0, k, room, sums)
            else:
                sums[0] = far[i, 0]
                for c in range(d):
                    y = queries.directions[i, c]
                    sums[1 + c] = far[i, 2 + c] + far[i, 1] * y + far[i, 0] * (y - x[k, c])
                if near and k0 < k:
                    add_changed(keys, ask, u, k0, k, room, sums)
            query = Query(ask.vector, ask.x, 1.0, ask.shift)
            add_changed_followers(system, query, lin.keys, u, k, sums)
            for c in range(d):
                pushed[c] = lin.shares[2, k] * (sums[1 + c] - sums[0] * lin.mean[k, c])
            finish(system.value, v_scalar, equations, k, pushed, work)
