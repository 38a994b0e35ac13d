"""Attention sums on the circle at queries of any direction and length.

As in `fourier`, but with Δ = φ_j − θ_k for a query in the direction y = (cos θ_k, sin θ_k), and
with the coefficients of its length. The powers that tokens leave behind are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.sums.fourier import make_sums
from parkade.engine.sums.queries import Queries, set_coefficients
from parkade.engine.sums.running import Chunk, Running

_powers_only, _join = make_sums(0), make_sums(0, join=True)
_three_sums, _five_sums = make_sums(3, own=True), make_sums(5, own=True)
_three_changes = make_sums(3, change=True, own=True)

SHORTEST = 0.0
"""Queries shorter than this have no second moments; none are."""


class Modes(NamedTuple):
    """The coefficients of one query at a time."""

    lengths: Array
    own: Array  # (2, size + 4): e^{−r} I_m(r) for m from −2 on, and the numbers m from 0 on


@njit(allocates=True)
def make_series(table: Array, lengths: Array) -> Modes:
    """Arrays for the coefficients of a query."""
    own = np.zeros((2, lengths.shape[2]))
    for m in range(own.shape[1]):
        own[1, m] = m
    return Modes(lengths, own)


@njit(inline="always")
def _count_once(own: Array, state: Array, sums: Array) -> None:
    """Take away one of the two times that the mode 0 was counted."""
    mass = state[0, 0] + state[2, 0]
    sums[0] -= mass * own[0, 2]
    sums[2] -= mass * (own[0, 3] - own[0, 2])


@njit()
def far_sums(
    running: Running, series: Modes, queries: Queries, chunk: Chunk, out: Array, join: bool
) -> None:
    """Sums over the tokens in the state, for the queries of a chunk one by one.

    Sets rows of out to Σ w, Σ w (t − 1) and the vector Σ w (x_j − t y), where t = ⟨x_j, y⟩. With
    `join` each token is then added to the local sums.
    """
    table, state, scratch = running
    x, lo, hi = chunk
    sums = scratch[2]
    for k in range(lo, hi):
        i = k - lo
        a, b = queries.directions[i, 0], queries.directions[i, 1]
        set_coefficients(series.lengths, queries.sizes[0, i], series.own[0])
        _three_sums(a, b, 0.0, state, series.own, scratch, sums)
        _count_once(series.own, state, sums)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
        if join:
            _join(x[k, 0], x[k, 1], 0.0, state, table, scratch, sums)


@njit()
def far_second(
    running: Running, series: Modes, queries: Queries, chunk: Chunk, out: Array, second: Array
) -> None:
    """`far_sums` with joining, and in `second` the matrices Σ w (x_j − y)(x_j − y)ᵀ."""
    table, state, scratch = running
    x, lo, hi = chunk
    sums = scratch[2]
    for k in range(lo, hi):
        i = k - lo
        a, b = queries.directions[i, 0], queries.directions[i, 1]
        set_coefficients(series.lengths, queries.sizes[0, i], series.own[0])
        _five_sums(a, b, 0.0, state, series.own, scratch, sums)
        _count_once(series.own, state, sums)
        sums[3] -= 0.5 * (state[0, 0] + state[2, 0]) * (series.own[0, 2] - series.own[0, 4])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
        # x_j − y = (cos Δ − 1) y + sin Δ τ with τ = (−b, a). (cos Δ − 1)² = 2 (1 − cos Δ) − sin² Δ.
        across, mixed, along = sums[3], sums[4], -2.0 * sums[2] - sums[3]
        second[i, 0, 0] = along * a * a - 2.0 * mixed * a * b + across * b * b
        second[i, 1, 1] = along * b * b + 2.0 * mixed * a * b + across * a * a
        second[i, 0, 1] = (along - across) * a * b + mixed * (a * a - b * b)
        second[i, 1, 0] = second[i, 0, 1]
        _join(x[k, 0], x[k, 1], 0.0, state, table, scratch, sums)


@njit()
def far_changes(
    running: Running, series: Modes, queries: Queries, chunk: Chunk, u: Array, out: Array
) -> None:
    """How the sums of the query of token lo = hi − 1 change if tokens j before it move by u[:, j].

    To be called for one token after the other: the state holds the changes up to token lo − 2.
    """
    table, state, scratch = running
    x, lo, _ = chunk
    sums, step = scratch[2], 0.0
    if lo > 0:
        p, q = x[lo - 1, 0], x[lo - 1, 1]
        step = p * u[1, lo - 1] - q * u[0, lo - 1]
        _powers_only(p, q, 0.0, state, table, scratch, sums)
    a, b = queries.directions[0, 0], queries.directions[0, 1]
    set_coefficients(series.lengths, queries.sizes[0, 0], series.own[0])
    _three_changes(a, b, step, state, series.own, scratch, sums)
    _count_once(series.own, state, sums)
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
