"""The flow linearised, and linear systems in its Jacobian, by harmonic sums in linear time.

If token j moves by u_j, a sum over j of a function of x_j changes by the sum of its derivatives
along the u_j: the same harmonic sums, with the changes of the features in the place of the
features. A forward substitution (see `substitution`) updates running sums of the changes of the
tokens solved for so far. The blocks J_kk need second moments, which are one more series each.

Tokens that `harmonic` sums directly are summed directly here as well: lone tokens keep the
relative precision of their forces, of their blocks and of what they feel from others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit
from parkade.engine.jacobian.linearization import Linearization
from parkade.engine.jacobian.substitution import Equations, finish, finish_room
from parkade.engine.sums.basis import basis
from parkade.engine.sums.followers import Query, add_changed_followers, add_followers
from parkade.engine.sums.harmonic import (
    Keys,
    SumBuffers,
    begin_sums,
    dot,
    is_lone,
    make_room,
    weigh,
)
from parkade.engine.sums.running import CHUNK, FOLD, Chunk, Running, TokenGroup, fold
from parkade.engine.system import LOG2E, Dims, System
from parkade.engine.vectors import scalar, total


@njit(fastmath=SUMS)
def _add_second(
    keys: Keys, x: Array, lo: int, hi: int, room: Array, sums: Array, second: Array
) -> None:
    """Add Σ w and Σ w δ to `sums`, Σ w δ δᵀ to `second`, over the keys lo ≤ j < hi, δ = x_j − x."""
    d = x.size
    for start in range(lo, hi, room.shape[1]):
        count = min(hi, start + room.shape[1]) - start
        weigh(keys, x, start, start + count, room)
        total = 0.0
        for j in range(count):
            total += room[0, j]
        sums[0] += total
        for c in range(d):
            weighted = room[1 + d]
            for j in range(count):
                weighted[j] = room[0, j] * room[1 + c, j]
            total = 0.0
            for j in range(count):
                total += weighted[j]
            sums[1 + c] += total
            for e in range(d):
                second[c, e] += dot(weighted, room[1 + e], count)


@njit(allocates=True, apart=True)
def linearize_rows(
    system: System, dims: Dims, beta_query: Array, x: Array, lin: Linearization, group: TokenGroup
) -> None:
    """What `linearize` does before `set_blocks`, for a group of tokens; see `rows`."""
    d = len(dims)
    keys = Keys(system.query[0, 0], lin.keys, np.empty(0))
    fixed = Keys(keys.rate, np.ascontiguousarray(system.frozen.T), system.frozen_weights)
    first = SumBuffers(keys, fixed, make_room(d), np.empty((CHUNK, 2 + d)), np.empty(1 + d))
    buffers = _MomentBuffers(first, np.empty((CHUNK, d, d)), np.empty((d, d)))
    _set_moments(system, dims, x, lin, group, begin_sums(system, dims), buffers)
    for k in range(group.lo, group.hi):
        for c in range(d):
            lin.queries[k, c] = beta_query[0, 0] * x[k, c]


class _MomentBuffers(NamedTuple):
    """Working arrays of `linearize_rows`."""

    first: SumBuffers
    far: Array  # (CHUNK, d, d): second moments by harmonic sums
    second: Array  # (d, d): those of one token


@njit()
def _set_moments(
    system: System,
    dims: Dims,
    x: Array,
    lin: Linearization,
    group: TokenGroup,
    running: Running,
    buffers: _MomentBuffers,
) -> None:
    """Set the means, shares and moments of a group of tokens."""
    d = len(dims)
    lo, hi, ledger = group
    (keys, fixed, weighed, far, sums), far_moment, second = buffers
    frozen = total(system.frozen_weights)
    near = basis(dims).LEAVES_NEAR
    for k0 in range(lo, hi, CHUNK):
        k1 = min(hi, k0 + CHUNK)
        if k0 % FOLD == 0:
            fold(running.state, ledger)
        basis(dims).far_second(running, Chunk(x, k0, k1), far, far_moment)
        for k in range(k0, k1):
            i = k - k0
            sums[0] = far[i, 0]
            for c in range(d):
                sums[1 + c] = far[i, 2 + c] + far[i, 1] * x[k, c]
                for e in range(d):
                    second[c, e] = far_moment[i, c, e]
            if near and k0 < k:
                _add_second(keys, x[k], k0, k, weighed, sums, second)
            query = Query(x[k], x[k], keys.rate, 0.0)
            add_followers(system, query, keys.places, k, sums, second)
            lin.lone[k] = is_lone(sums[0], frozen + k, system.accuracy)
            if lin.lone[k]:
                for c in range(1 + d):
                    sums[c] = 0.0
                for c in range(d):
                    for e in range(d):
                        second[c, e] = 0.0
                _add_second(keys, x[k], 0, k, weighed, sums, second)
                add_followers(system, query, keys.places, k, sums, second)
                m = len(system.frozen_weights)
                if m > 0:
                    _add_second(fixed, x[k], 0, m, weighed, sums, second)
            z = 1.0 / (1.0 + sums[0])
            lin.shares[0, k], lin.shares[1, k] = z, z * sums[0]
            for c in range(d):
                lin.mean[k, c] = z * sums[1 + c]
            # Blocks only act on tangent vectors: what the far part lacks does not matter.
            for c in range(d):
                for e in range(d):
                    moment = z * second[c, e] - lin.mean[k, c] * lin.mean[k, e]
                    lin.moments[c, k, e] = moment
    if hi < x.shape[0]:
        fold(running.state, ledger)


@njit(fastmath=SUMS)
def _add_changed(
    keys: Keys, x: Array, u: Array, lo: int, hi: int, room: Array, sums: Array
) -> None:
    """Add Σ w a_j and Σ w [u_j + (x_j − x) a_j] with a_j = β⟨x, u_j⟩ over lo ≤ j < hi to `sums`."""
    d = x.size
    beta = keys.rate / LOG2E
    for start in range(lo, hi, room.shape[1]):
        count = min(hi, start + room.shape[1]) - start
        weigh(keys, x, start, start + count, room)
        weights, along = room[0], room[1 + d]
        for j in range(count):
            along[j] = 0.0
        for c in range(d):
            moved, own = u[c], beta * x[c]
            for j in range(count):
                along[j] += own * moved[start + j]
        total = 0.0
        for j in range(count):
            along[j] *= weights[j]
            total += along[j]
        sums[0] += total
        for c in range(d):
            moved, gap = u[c], room[1 + c]
            total = 0.0
            for j in range(count):
                total += weights[j] * moved[start + j] + along[j] * gap[j]
            sums[1 + c] += total


class Changes(NamedTuple):
    """Sums of the changes of tokens: how they are carried from one block of tokens to the next."""

    running: Running
    ledger: Array


@njit(allocates=True)
def no_changes(system: System, dims: Dims) -> Changes:
    """No token has moved yet."""
    return Changes(begin_sums(system, dims), np.zeros((8, system.table.shape[1])))


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
    """Solve for the tokens lo ≤ k < hi by forward substitution, as `substitution.solve` does.

    The tokens before them must be solved for, and lo must be a multiple of FOLD.
    """
    d = len(dims)
    keys = Keys(system.query[0, 0], equations.lin.keys, np.empty(0))
    far, sums, pushed = np.empty((CHUNK, 2 + d)), np.empty(1 + d), np.empty(d)
    work = finish_room(d, equations.inverses)
    buffers = _SubstitutionBuffers(keys, make_room(d), far, sums, pushed, work)
    group = TokenGroup(lo, hi, changes.ledger)
    _substitute(system, dims, x, equations, group, changes.running, buffers)


class _SubstitutionBuffers(NamedTuple):
    """Working arrays of `solve_rows`."""

    keys: Keys
    weighed: Array
    far: Array
    sums: Array
    pushed: Array
    work: tuple[Array, Array, Array, Array]


@njit()
def _substitute(
    system: System,
    dims: Dims,
    x: Array,
    equations: Equations,
    group: TokenGroup,
    running: Running,
    buffers: _SubstitutionBuffers,
) -> None:
    d = len(dims)
    lin, u = equations.lin, equations.u
    keys, weighed, far, sums, pushed, work = buffers
    near = basis(dims).LEAVES_NEAR
    chunk = CHUNK if near else 1
    lo, hi, ledger = group
    v_scalar = scalar(system.value)
    for k0 in range(lo, hi, chunk):
        k1 = min(hi, k0 + chunk)
        if k0 % FOLD == 0:
            fold(running.state, ledger)
        basis(dims).far_changes(running, Chunk(x, k0, k1), u, far, v_scalar == 0.0)
        for k in range(k0, k1):
            if lin.lone[k]:
                for c in range(1 + d):
                    sums[c] = 0.0
                _add_changed(keys, x[k], u, 0, k, weighed, sums)
            else:
                sums[0] = far[k - k0, 0]
                for c in range(d):
                    sums[1 + c] = far[k - k0, 2 + c] + far[k - k0, 1] * x[k, c]
                if near and k0 < k:
                    _add_changed(keys, x[k], u, k0, k, weighed, sums)
            query = Query(x[k], x[k], keys.rate, 0.0)
            add_changed_followers(system, query, keys.places, u, k, sums)
            # p_kk = 1/Z_k
            for c in range(d):
                pushed[c] = lin.shares[0, k] * (sums[1 + c] - sums[0] * lin.mean[k, c])
            finish(system.value, v_scalar, equations, k, pushed, work)
