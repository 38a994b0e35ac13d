"""Attention sums on the sphere S² at queries of any direction and length.

As in `legendre`, but at the direction y of a query, and with coefficients of its length r. With the
moments M_lm of the tokens, and F_lm(y) = norm_lm conj(f_lm(y)) M_lm without any a_l,

    G = Σ (a_l/r) Re F_lm  (l ≥ 1),   R = Σ (da_l/dr) Re F_lm,   B = Σ d(a_l/r)/dr Re F_lm  (l ≥ 1)

are W/r but for its constant, Σ_j w (t − 1), and dG/dr, where t = ⟨x_j, y⟩. So nothing is divided by
a length that may be small to get

    W = r G + a_0 M_00,     N = Σ_j w (x_j − t y) = P∇G,     b = Σ_j w (t − 1) (x_j − t y) = P∇B,

and T = Σ_j w (x_j − t y)(x_j − t y)ᵀ = [P H P + (W + R − ⟨∇G, y⟩) P] / r with the Hessian H of G.
As |x_j − y|² = 2 (1 − t), Σ_j w (t − 1)² = −2R − tr T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, njit
from parkade.engine.sums import legendre
from parkade.engine.sums.legendre import POWER, D, add_changes, advance, degree, load, raise_power
from parkade.engine.sums.queries import Queries, set_coefficients
from parkade.engine.sums.running import CHUNK, Chunk, Running

SHORTEST = 0.01
"""Queries shorter than this have no second moments: T loses 1/r in precision."""

# Scratch is laid out as in `legendre` up to the powers of ζ. Then there are six complex sums over
# l, nine complex results, and D_lm for four l times each of three coefficients. At last, in rows of
# L + 4 numbers, the complex factors of these: norm_lm M_lm, and its two derivatives by z.
_SUM, _OUT, _SCALED = 14 * CHUNK, 26 * CHUNK, 44 * CHUNK
_COLUMNS = 56 * CHUNK
_G, _R, _GZ, _B, _BZ, _GZZ = 0, 2, 4, 6, 8, 10
_BY_G, _BY_R, _BY_B = (_SCALED + 4 * CHUNK * row for row in range(3))
_HERE, _SLOPE, _BEND = 0, 2, 4


class Degrees(NamedTuple):
    """The coefficients of the queries of a chunk, and a working array."""

    lengths: Array
    column: Array  # the coefficients of one query
    coefficients: Array  # (columns, CHUNK): those of all of them
    flat: Array


@njit(allocates=True)
def make_series(table: Array, lengths: Array) -> Degrees:
    """Arrays for the coefficients of a chunk of queries."""
    columns, stride = lengths.shape[2], degree(table.shape[1]) + 4
    # Four degrees are taken at once, so the last rows are followed by some that count nothing.
    return Degrees(
        lengths,
        np.empty(columns),
        np.zeros((columns + 3, CHUNK)),
        np.zeros(_COLUMNS + 6 * stride),
    )


@njit(fastmath=FUSED, inline="always")
def _scale(coefficients: Array, row: int, to: int, flat: Array) -> None:
    """Multiply four D_lm with the coefficients of their degrees."""
    a0, a1, a2, a3 = (
        coefficients[row],
        coefficients[row + 1],
        coefficients[row + 2],
        coefficients[row + 3],
    )
    for i in range(CHUNK):
        flat[to + i] = flat[D + i] * a0[i]
        flat[to + CHUNK + i] = flat[D + CHUNK + i] * a1[i]
        flat[to + 2 * CHUNK + i] = flat[D + 2 * CHUNK + i] * a2[i]
        flat[to + 3 * CHUNK + i] = flat[D + 3 * CHUNK + i] * a3[i]


@njit(fastmath=FUSED, inline="always")
def _sum_degrees(flat: Array, deg: int, stride: int, factor: int, by: int, which: int) -> None:
    """Add four scaled D_lm times their factors to a complex sum."""
    at, to = _COLUMNS + factor * stride + deg, _SUM + which * CHUNK
    r0, r1, r2, r3 = flat[at], flat[at + 1], flat[at + 2], flat[at + 3]
    at += stride
    i0, i1, i2, i3 = flat[at], flat[at + 1], flat[at + 2], flat[at + 3]
    for i in range(CHUNK):
        d0, d1 = flat[by + i], flat[by + CHUNK + i]
        d2, d3 = flat[by + 2 * CHUNK + i], flat[by + 3 * CHUNK + i]
        flat[to + i] += d0 * r0 + d1 * r1 + (d2 * r2 + d3 * r3)
        flat[to + CHUNK + i] += d0 * i0 + d1 * i1 + (d2 * i2 + d3 * i3)


@njit(fastmath=FUSED, inline="always")
def _collect(flat: Array, down: int, factor: float, which: int, result: int) -> None:
    """Add  factor · conj(ζ^(m−down)) · sum  to a result; see `legendre`."""
    power, at, to = POWER + 2 * CHUNK * down, _SUM + which * CHUNK, _OUT + 2 * CHUNK * result
    for i in range(CHUNK):
        re, im = flat[power + i], flat[power + CHUNK + i]
        s, t = flat[at + i], flat[at + CHUNK + i]
        flat[to + i] += factor * (re * s + im * t)
        flat[to + CHUNK + i] += factor * (re * t - im * s)


@njit()
def _set_series(series: Degrees, queries: Queries, count: int) -> None:
    """Set the coefficients of the first `count` queries."""
    lengths, column, coefficients, _ = series
    for i in range(count):
        set_coefficients(lengths, queries.sizes[0, i], column)
        for row in range(column.size):
            coefficients[row, i] = column[row]


@njit(fastmath=FUSED)
def _sum_all(running: Running, series: Degrees, full: bool) -> None:
    """Sum over all (l, m), for the queries loaded; `full` is for second moments."""
    table, state, _ = running
    coefficients, flat = series.coefficients, series.flat
    top = degree(table.shape[1])
    stride = top + 4
    for m in range(top + 1):
        place = m * (2 * top + 3 - m) // 2 - m
        for deg in range(m, top + 1):
            slope = 2.0 * (deg - m + 1)
            for c in range(2):
                i = _COLUMNS + c * stride + deg  # still there is the factor of m − 1
                flat[i + _BEND * stride] = slope * flat[i + _SLOPE * stride]
                flat[i + _SLOPE * stride] = slope * flat[i]
                moment = state[c, place + deg] + state[2 + c, place + deg]
                flat[i] = table[1, place + deg] * moment
        for i in range(_SUM, _OUT):
            flat[i] = 0.0
        for deg in range(m, top + 1, 4):
            advance(table, place + deg, deg == m, flat)
            _scale(coefficients, deg, _BY_G, flat)
            _scale(coefficients, top + 1 + deg, _BY_R, flat)
            _sum_degrees(flat, deg, stride, _HERE, _BY_G, _G)
            _sum_degrees(flat, deg, stride, _HERE, _BY_R, _R)
            _sum_degrees(flat, deg, stride, _SLOPE, _BY_G, _GZ)
            if full:
                _scale(coefficients, 2 * (top + 1) + deg, _BY_B, flat)
                _sum_degrees(flat, deg, stride, _HERE, _BY_B, _B)
                _sum_degrees(flat, deg, stride, _SLOPE, _BY_B, _BZ)
                _sum_degrees(flat, deg, stride, _BEND, _BY_G, _GZZ)
        _collect(flat, 0, 1.0, _G, 0)
        _collect(flat, 0, 1.0, _R, 1)
        _collect(flat, 1, m, _G, 2)
        _collect(flat, 1, 1.0, _GZ, 3)
        if full:
            _collect(flat, 1, m, _B, 4)
            _collect(flat, 1, 1.0, _BZ, 5)
            _collect(flat, 2, m * (m - 1.0), _G, 6)
            _collect(flat, 2, m - 1.0, _GZ, 7)
            _collect(flat, 2, 1.0, _GZZ, 8)
        raise_power(flat)


@njit(fastmath=FUSED, error_model="numpy")
def _evaluate(
    running: Running, series: Degrees, queries: Queries, count: int, out: Array, second: Array
) -> None:
    """Set out (CHUNK, 5) to W, R and N, and second (CHUNK, 3, 3), unless empty, as `far_second`."""
    coefficients, flat = series.coefficients, series.flat
    full, constant = second.size > 0, running.state[0, 0] + running.state[2, 0]
    load(queries.directions, 0, count, flat)
    _set_series(series, queries, count)
    _sum_all(running, series, full)
    for i in range(count):
        y, values = queries.directions[i], flat[_OUT + i :: CHUNK]  # G, –, R, –, ∇G, –, ∇B, –, H
        for g in (8, 4):  # from ∇ to P∇, and in the idle place after it ⟨∇, y⟩
            level = y[0] * values[g] + y[1] * values[g + 1]
            values[g + 3] = level + y[2] * values[g + 2]
            values[g] -= y[0] * values[g + 3]
            values[g + 1] -= y[1] * values[g + 3]
            # Near a pole ∂G/∂z is large, so 1 − z² must not be a difference.
            values[g + 2] = values[g + 2] * (y[0] * y[0] + y[1] * y[1]) - y[2] * level
        r = queries.sizes[0, i]
        W = r * values[0] + coefficients[series.column.size - 1, i] * constant
        R = values[2]
        out[i, 0], out[i, 1] = W, R
        out[i, 2], out[i, 3], out[i, 4] = values[4], values[5], values[6]
        if full:
            _set_second(y, values, W + R - values[7], r, second[i])


@njit(fastmath=FUSED, error_model="numpy")
def _set_second(y: Array, values: Array, trace: float, r: float, second: Array) -> None:
    """Set `second` to Σ w (x_j − y)(x_j − y)ᵀ = T + y bᵀ + b yᵀ + Σ w (t − 1)² y yᵀ."""
    p, q, s, t, u = values[12], values[13], values[14], values[15], values[16]
    H = ((p + trace, q, s), (q, trace - p, t), (s, t, u + trace))
    h0 = H[0][0] * y[0] + H[0][1] * y[1] + H[0][2] * y[2]
    h1 = H[1][0] * y[0] + H[1][1] * y[1] + H[1][2] * y[2]
    h2 = H[2][0] * y[0] + H[2][1] * y[1] + H[2][2] * y[2]
    Hy = (h0, h1, h2)
    radial = y[0] * h0 + y[1] * h1 + y[2] * h2
    spread = (H[0][0] + H[1][1] + H[2][2] - radial) / r  # tr T, as |y| = 1
    along = -2.0 * values[2] - spread
    for a in range(3):
        for c in range(3):
            inner = H[a][c] - y[a] * Hy[c] - Hy[a] * y[c] + radial * y[a] * y[c]
            beside = y[a] * values[8 + c] + values[8 + a] * y[c]
            second[a, c] = inner / r + beside + along * y[a] * y[c]


@njit(allocates=True)
def far_sums(
    running: Running, series: Degrees, queries: Queries, chunk: Chunk, out: Array, join: bool
) -> None:
    """Set out (CHUNK, 5) to W, R and N at the queries of a chunk; with `join` add its tokens."""
    _evaluate(running, series, queries, chunk.hi - chunk.lo, out, np.empty((0, 3, 3)))
    if join:
        legendre.join_tokens(running, chunk)


@njit()
def far_second(
    running: Running, series: Degrees, queries: Queries, chunk: Chunk, out: Array, second: Array
) -> None:
    """`far_sums` with joining, and in `second` the matrices Σ w (x_j − y)(x_j − y)ᵀ."""
    _evaluate(running, series, queries, chunk.hi - chunk.lo, out, second)
    legendre.join_tokens(running, chunk)


@njit(allocates=True)
def far_changes(
    running: Running, series: Degrees, queries: Queries, chunk: Chunk, u: Array, out: Array
) -> None:
    """How W, R and N at the queries of a chunk change if every token j before it moves by u[:, j].

    To be called for one chunk after the other: the state holds the changes up to the last but one.
    """
    if chunk.lo > 0:
        add_changes(running, chunk.x, u, chunk.lo - CHUNK, chunk.lo)
    _evaluate(running, series, queries, chunk.hi - chunk.lo, out, np.empty((0, 3, 3)))
