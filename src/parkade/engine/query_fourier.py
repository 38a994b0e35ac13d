"""Attention sums on the circle at queries of any direction and length.

As in `fourier`, but with Δ = φ_j − θ_k for a query in the direction y = (cos θ_k, sin θ_k), and with
coefficients of its own length. The powers that tokens leave behind are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.fourier import make_sums
from parkade.engine.jit import FUSED, njit
from parkade.engine.queries import Queries, set_coefficients
from parkade.engine.running import Chunk, Running

_powers_only, _join = make_sums(0), make_sums(0, join=True)
_three_sums, _five_sums = make_sums(3), make_sums(5)
_three_changes = make_sums(3, change=True)

SHORTEST = 0.0
"""Queries shorter than this have no second moments; none are."""


class Series(NamedTuple):
    """What is needed of one query at a time."""

    lengths: Array
    bessel: Array  # (size + 4,): e^{−r} I_m(r) for m from −2 on
    table: Array  # (6, size): rows as in the table of `fourier`


@njit(allocates=True)
def make_series(table: Array, lengths: Array) -> Series:
    """Room for the coefficients of a query."""
    return Series(lengths, np.empty(lengths.shape[2]), table.copy())


@njit(fastmath=FUSED)
def _set_series(series: Series, length: float, second: bool) -> None:
    """Set the rows of the table, the first three or five of them, for a query of a given length."""
    lengths, c, table = series
    set_coefficients(lengths, length, c)
    w, sine, less, square, mixed = table[0], table[1], table[2], table[3], table[4]
    for m in range(w.size):
        w[m] = 2.0 * c[m + 2]
        sine[m] = c[m + 1] - c[m + 3]
        less[m] = (c[m + 1] - c[m + 2]) - (c[m + 2] - c[m + 3])
    w[0], less[0] = c[2], c[3] - c[2]
    if second:
        for m in range(w.size):
            square[m] = c[m + 2] - 0.5 * (c[m] + c[m + 4])
            mixed[m] = 0.5 * (c[m] - c[m + 4]) - (c[m + 1] - c[m + 3])
        square[0] *= 0.5


@njit()
def far_sums(
    running: Running, series: Series, queries: Queries, chunk: Chunk, out: Array, join: bool
) -> None:
    """Sums over the tokens in the state, for the queries of a chunk one by one.

    Sets rows of out to Σ w, Σ w (t − 1) and the vector Σ w (x_j − t y), where t = ⟨x_j, y⟩. With
    `join` each token is then added to the local sums.
    """
    _, state, scratch = running
    x, lo, hi = chunk
    sums = scratch[2]
    for k in range(lo, hi):
        i = k - lo
        a, b = queries.directions[i, 0], queries.directions[i, 1]
        _set_series(series, queries.sizes[0, i], False)
        _three_sums(a, b, 0.0, state, series.table, scratch, sums)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
        if join:
            _join(x[k, 0], x[k, 1], 0.0, state, series.table, scratch, sums)


@njit()
def far_second(
    running: Running, series: Series, queries: Queries, chunk: Chunk, out: Array, second: Array
) -> None:
    """`far_sums` with joining, and in `second` the matrices Σ w (x_j − y)(x_j − y)ᵀ."""
    _, state, scratch = running
    x, lo, hi = chunk
    sums = scratch[2]
    for k in range(lo, hi):
        i = k - lo
        a, b = queries.directions[i, 0], queries.directions[i, 1]
        _set_series(series, queries.sizes[0, i], True)
        _five_sums(a, b, 0.0, state, series.table, scratch, sums)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
        # x_j − y = (cos Δ − 1) y + sin Δ τ with τ = (−b, a), and (cos Δ − 1)² = 2 (1 − cos Δ) − sin² Δ
        across, mixed, along = sums[3], sums[4], -2.0 * sums[2] - sums[3]
        second[i, 0, 0] = along * a * a - 2.0 * mixed * a * b + across * b * b
        second[i, 1, 1] = along * b * b + 2.0 * mixed * a * b + across * a * a
        second[i, 0, 1] = (along - across) * a * b + mixed * (a * a - b * b)
        second[i, 1, 0] = second[i, 0, 1]
        _join(x[k, 0], x[k, 1], 0.0, state, series.table, scratch, sums)


@njit()
def far_changes(
    running: Running, series: Series, queries: Queries, chunk: Chunk, u: Array, out: Array
) -> None:
    """How the sums of the query of token lo = hi − 1 change if tokens j before it move by u[:, j].

    To be called for one token after the other: the state holds the changes up to token lo − 2.
    """
    _, state, scratch = running
    x, lo, _ = chunk
    sums, step = scratch[2], 0.0
    if lo > 0:
        p, q = x[lo - 1, 0], x[lo - 1, 1]
        step = p * u[1, lo - 1] - q * u[0, lo - 1]
        _powers_only(p, q, 0.0, state, series.table, scratch, sums)
    a, b = queries.directions[0, 0], queries.directions[0, 1]
    _set_series(series, queries.sizes[0, 0], False)
    _three_changes(a, b, step, state, series.table, scratch, sums)
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
