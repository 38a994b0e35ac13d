"""Velocities by attention sums in linear time, for any Q and K, on the circle and on S².

The weights of token k are those of a token in the direction of its query, with the length of the
query in the place of β (`lengths`, `query_fourier`, `query_legendre`). What tokens leave behind in
running sums is the same as in `harmonic`, so the sums with e = y − x_k are, for Δ_j = x_j − y,

    Σ w (x_j − x_k) = Σ w Δ_j + e Σ w.

These have an absolute error of some 1e-16 per token, relative to the weight of a key right in the
direction of the query. Where such an error is too much, because no token is near that direction, or
because a token is alone, it is summed directly (`queries.is_lost`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import exp2
from parkade.engine.sums import query_fourier, query_legendre
from parkade.engine.sums.basis import basis
from parkade.engine.sums.followers import Query, add_followers
from parkade.engine.sums.harmonic import begin_sums, make_room
from parkade.engine.sums.pairwise import project
from parkade.engine.sums.queries import (
    Ask,
    Places,
    add_keys,
    is_lost,
    make_queries,
    safe_shift,
    set_queries,
)
from parkade.engine.sums.running import CHUNK, FOLD, Chunk, TokenGroup, fold
from parkade.engine.system import Dims, System
from parkade.engine.vectors import total

_DIMENSIONS = {2: query_fourier, 3: query_legendre}


def at_queries(dims: Dims) -> Any:
    """The module for the dimension len(dims); chosen when a caller is compiled."""
    return _DIMENSIONS[len(dims)]


@overload(at_queries)
def _at_queries(dims: Any) -> Any:
    module = _DIMENSIONS[len(dims)]

    def choose(dims: Any) -> Any:
        return module

    return choose


@njit(allocates=True, apart=True)
def rows(
    system: System, dims: Dims, x: Array, transposed: Array, group: TokenGroup, out: Array
) -> None:
    """Velocities of a group of tokens; see `harmonic.rows`."""
    n, d = x.shape[0], len(dims)
    lo, hi, ledger = group
    running, queries = begin_sums(system, dims), make_queries(d)
    series = at_queries(dims).make_series(system.table, system.lengths)
    room, far, means = make_room(d), np.empty((CHUNK, 2 + d)), np.empty(1 + d)
    none = np.empty((0, 0))
    keys = Places(transposed, np.empty(0))
    fixed = Places(np.ascontiguousarray(system.frozen.T), system.frozen_weights)
    m, frozen = len(system.frozen_weights), total(system.frozen_weights)
    near = system.causal and basis(dims).LEAVES_NEAR
    for k0 in range(lo, hi, CHUNK):
        k1 = min(hi, k0 + CHUNK)
        if k0 == lo or (system.causal and (k0 - lo) % FOLD == 0):
            fold(running.state, ledger)
        set_queries(system, dims, x, k0, k1, queries)
        at_queries(dims).far_sums(running, series, queries, Chunk(x, k0, k1), far, system.causal)
        for k in range(k0, k1):
            i = k - k0
            own, ask = queries.sizes[2, i], Ask(queries.vectors[i], x[k], queries.sizes[1, i])
            means[0] = far[i, 0]
            for c in range(d):
                y = queries.directions[i, c]
                means[1 + c] = far[i, 2 + c] + far[i, 1] * y + far[i, 0] * (y - x[k, c])
            if not system.causal:
                means[0] -= own
            if near and k0 < k:
                add_keys(keys, ask, k0, k, room, means, none)
            add_followers(
                system, Query(ask.vector, ask.x, 1.0, ask.shift), transposed, k, means, none
            )
            if is_lost(means[0], own, frozen + (k if system.causal else n), system.accuracy):
                seen = k if system.causal else n
                ask = Ask(ask.vector, ask.x, safe_shift(keys, fixed, ask, seen, k))
                own = exp2(-ask.shift)
                for c in range(1 + d):
                    means[c] = 0.0
                add_keys(keys, ask, 0, k, room, means, none)
                add_keys(keys, ask, k + 1, seen, room, means, none)
                add_keys(fixed, ask, 0, m, room, means, none)
                add_followers(
                    system, Query(ask.vector, ask.x, 1.0, ask.shift), transposed, k, means, none
                )
            for c in range(d):
                out[k, c] = means[1 + c] / (own + means[0])
    project(system, dims, x, lo, hi, out)
    if system.causal and hi < n:
        fold(running.state, ledger)
