"""Attention sums on the sphere S² in linear time, by spherical harmonics.

The weight of two tokens is a series in Legendre polynomials of t = ⟨x, y⟩: e^{β(t−1)} = Σ_l a_l P_l
with a_l = (2l + 1) e^{−β} i_l(β), i_l modified spherical Bessel functions (DLMF 10.60.8). The
addition theorem (DLMF 14.30.9) makes it a sum of products of functions of x and of y, which are,
with ζ = x₁ + i x₂, z = x₃, and the m-th derivative of P_l scaled to begin with (2z)^(l−m),

    f_lm(x) = D_lm(z) ζ^m,  0 ≤ m ≤ l ≤ L,     D_mm = 1,     dD_lm/dz = 2 (l − m) D_l,m+1,
    D_l+1,m = 2z D_lm − 4 (l² − m²)/(4l² − 1) D_l−1,m.

There are no roots, no poles, and no overflow for L ≤ 1000. With M_lm = Σ_j mass_j f_lm(x_j),

    W(x) = Σ_j mass_j w = Re Σ_lm α_lm conj(f_lm(x)) M_lm,
           α_lm = (2 − δ_m0) a_l C(2l, l) C(2l, l+m) / 4^(2l−m),
    R(x) = Σ_j mass_j w (t − 1), the same with da_l/dβ instead of a_l,
    N(x) = Σ_j mass_j w (x_j − t x) = P∇W / β,
    S(x) = Σ_j mass_j w (x_j − x) (x_j − t x)ᵀ
         = [P H P + (β (W + R) − ⟨∇W, x⟩) P] / β² + x (P∇R − N)ᵀ / β,

∇ and H the gradient and Hessian of the polynomial W in R³, P the projection on the tangent space.
Everything is linear in the moments M: if tokens move by u_j, these change by
Σ_j ⟨∇f_lm(x_j), u_j⟩, and W, R and N of the changes are the changes of W, R and N at a fixed x.
The moments are in `Running.state`; pairs (l, m) are in the order of m, then of l.
"""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, SUMS, njit
from parkade.engine.sums.running import CHUNK, Chunk, Running

# CHUNK tokens are taken together, side by side in vector loops; idle lanes are computed as well.
# Scratch is flat. First, rows of CHUNK numbers at constant places, which the compiler sees not to
# overlap: 2z, what it lacks, x₁, x₂; D_lm for four l; ζ^m (maybe times a mass), ζ^(m−1), ζ^(m−2);
# five complex sums over l (or factors of D_lm); nine complex results. Then, rows of L + 4 numbers:
# the factors of D_lm in those sums, for W and R, and for their derivatives by z, which raise m.
_Z2, _LACK, _X, _Y, D, POWER, _SUM, _OUT = (CHUNK * row for row in (0, 1, 2, 3, 4, 8, 14, 24))
_COLUMNS = 42 * CHUNK
_W, _R, _WZ, _RZ, _WZZ, _ALL = 0, 2, 4, 6, 8, 10


@njit()
def degree(size: int) -> int:
    """L, from the number of pairs (l, m)."""
    return int(np.sqrt(2.0 * size)) - 1


@njit(allocates=True)
def make_scratch(table: Array) -> Array:
    """Working memory for one thread."""
    return np.zeros(_COLUMNS + _ALL * (degree(table.shape[1]) + 4))


@njit()
def load(x: Array, lo: int, hi: int, flat: Array) -> None:
    """Take the tokens from lo on, as many as there are before hi, and m = 0."""
    for i in range(flat.size):
        flat[i] = 0.0
    for i in range(min(hi - lo, CHUNK)):
        x0, x1, z = x[lo + i, 0], x[lo + i, 1], x[lo + i, 2]
        flat[_X + i], flat[_Y + i], flat[_Z2 + i], flat[POWER + i] = x0, x1, 2.0 * z, 1.0
        if abs(z) > 0.5:  # near a pole D is so steep that what z lacks of unit length matters
            flat[_LACK + i] = ((1.0 - z) * (1.0 + z) - (x0 * x0 + x1 * x1)) / z


@njit(fastmath=FUSED)
def raise_power(flat: Array) -> None:
    """From the powers of ζ for m to those for m + 1."""
    for i in range(CHUNK):
        re, im = flat[POWER + i], flat[POWER + CHUNK + i]
        for row in range(5, 1, -1):
            flat[POWER + row * CHUNK + i] = flat[POWER + (row - 2) * CHUNK + i]
        flat[POWER + i] = flat[_X + i] * re - flat[_Y + i] * im
        flat[POWER + CHUNK + i] = flat[_X + i] * im + flat[_Y + i] * re


@njit(fastmath=FUSED)
def advance(table: Array, place: int, first: bool, flat: Array) -> None:
    """The next four D_lm, of which `place` is the first; for l > L they are arbitrary."""
    end = table.shape[1] - 1
    b0, b1 = table[0, place], table[0, min(place + 1, end)]
    b2, b3 = table[0, min(place + 2, end)], table[0, min(place + 3, end)]
    for i in range(CHUNK):
        z, e = flat[_Z2 + i], flat[_LACK + i]
        d2 = 1.0 if first else flat[D + 2 * CHUNK + i]
        d3 = 0.0 if first else flat[D + 3 * CHUNK + i]
        d0 = z * d3 + (e * d3 - b0 * d2)
        d1 = z * d0 + (e * d0 - b1 * d3)
        d2 = z * d1 + (e * d1 - b2 * d0)
        flat[D + i], flat[D + CHUNK + i] = d0, d1
        flat[D + 2 * CHUNK + i], flat[D + 3 * CHUNK + i] = d2, z * d2 + (e * d2 - b3 * d1)


@njit(fastmath=SUMS, constants=True)
def _sum_tokens(table: Array, m: int, down: int, flat: Array, factor: int, state: Array) -> None:
    """Add Σ_j factor_j D_lm to M_lm; or, if down = 1, Σ_j factor_j D_l,m−1' to M_l,m−1."""
    top = degree(table.shape[1])
    place = m * (2 * top + 3 - m) // 2 - m
    to = place - (top + 1 - m) * down
    for deg in range(m, top + 1, 4):
        advance(table, place + deg, deg == m, flat)
        r0 = r1 = r2 = r3 = i0 = i1 = i2 = i3 = 0.0
        for i in range(CHUNK):
            re, im = flat[factor + i], flat[factor + CHUNK + i]
            d0, d1 = flat[D + i], flat[D + CHUNK + i]
            d2, d3 = flat[D + 2 * CHUNK + i], flat[D + 3 * CHUNK + i]
            r0, r1, r2, r3 = r0 + d0 * re, r1 + d1 * re, r2 + d2 * re, r3 + d3 * re
            i0, i1, i2, i3 = i0 + d0 * im, i1 + d1 * im, i2 + d2 * im, i3 + d3 * im
        sums = (r0, i0, r1, i1, r2, i2, r3, i3)
        for q in range(min(4, top + 1 - deg)):
            slope = 2.0 * (deg + q - m + 1) if down else 1.0
            state[2, to + deg + q] += slope * sums[2 * q]
            state[3, to + deg + q] += slope * sums[2 * q + 1]


@njit()
def add_features(running: Running, x: Array, mass: Array) -> None:
    """Add the features of the tokens, times their masses, to the local sums."""
    table, state, scratch = running
    n = x.shape[0]
    for start in range(0, n, CHUNK):
        load(x, start, n, scratch)
        for i in range(min(n - start, CHUNK)):
            scratch[POWER + i] = mass[start + i]
        for m in range(degree(table.shape[1]) + 1):
            _sum_tokens(table, m, 0, scratch, POWER, state)
            raise_power(scratch)


@njit(fastmath=FUSED)
def add_changes(running: Running, x: Array, u: Array, lo: int, hi: int) -> None:
    """Add Σ ⟨∇f_lm(x_j), u_j⟩ over lo ≤ j < hi to the local sums; u is (3, n or more)."""
    table, state, scratch = running
    for start in range(lo, hi, CHUNK):
        load(x, start, hi, scratch)
        for m in range(1, degree(table.shape[1]) + 1):
            for i in range(min(hi - start, CHUNK)):
                re, im = scratch[POWER + i], scratch[POWER + CHUNK + i]  # ζ^(m−1)
                u0, u1, u2 = u[0, start + i], u[1, start + i], u[2, start + i]
                scratch[_SUM + i] = m * (re * u0 - im * u1)
                scratch[_SUM + CHUNK + i] = m * (re * u1 + im * u0)
                scratch[_SUM + 2 * CHUNK + i], scratch[_SUM + 3 * CHUNK + i] = re * u2, im * u2
            _sum_tokens(table, m, 0, scratch, _SUM, state)
            _sum_tokens(table, m, 1, scratch, _SUM + 2 * CHUNK, state)
            raise_power(scratch)


@njit(fastmath=FUSED, inline="always")
def _sum_degrees(flat: Array, deg: int, stride: int, which: int) -> None:
    """Add four D_lm times their factors to a complex sum. Inlined, so that `to` is a constant."""
    at, to = _COLUMNS + which * stride + deg, _SUM + which * CHUNK
    r0, r1, r2, r3 = flat[at], flat[at + 1], flat[at + 2], flat[at + 3]
    at += stride
    i0, i1, i2, i3 = flat[at], flat[at + 1], flat[at + 2], flat[at + 3]
    for i in range(CHUNK):
        d0, d1 = flat[D + i], flat[D + CHUNK + i]
        d2, d3 = flat[D + 2 * CHUNK + i], flat[D + 3 * CHUNK + i]
        flat[to + i] += d0 * r0 + d1 * r1 + (d2 * r2 + d3 * r3)
        flat[to + CHUNK + i] += d0 * i0 + d1 * i1 + (d2 * i2 + d3 * i3)


@njit(fastmath=FUSED, inline="always")
def _collect(flat: Array, down: int, factor: float, which: int, result: int) -> None:
    """Add  factor · conj(ζ^(m−down)) · sum  to a result: as ∂₁ζ̄ = 1, ∂₂ζ̄ = −i, two derivatives."""
    power, at, to = POWER + 2 * CHUNK * down, _SUM + which * CHUNK, _OUT + 2 * CHUNK * result
    for i in range(CHUNK):
        re, im = flat[power + i], flat[power + CHUNK + i]
        s, t = flat[at + i], flat[at + CHUNK + i]
        flat[to + i] += factor * (re * s + im * t)
        flat[to + CHUNK + i] += factor * (re * t - im * s)


@njit(fastmath=FUSED)
def _sum_all(running: Running, chunk: Chunk, full: bool) -> None:
    """Sum over all (l, m), at the tokens of a chunk; `full` is for second moments."""
    table, state, flat = running
    top = degree(table.shape[1])
    stride = top + 4
    load(chunk.x, chunk.lo, chunk.hi, flat)
    for m in range(top + 1):
        place = m * (2 * top + 3 - m) // 2 - m
        for deg in range(m, top + 1):
            slope = 2.0 * (deg - m + 1)
            for c in range(2):
                i = _COLUMNS + c * stride + deg  # of a factor in W; still there is that of m − 1
                if full:
                    flat[i + _WZZ * stride] = slope * flat[i + _WZ * stride]
                    flat[i + _RZ * stride] = slope * flat[i + _R * stride]
                flat[i + _WZ * stride] = slope * flat[i]
                moment = state[c, place + deg] + state[2 + c, place + deg]
                flat[i] = table[1, place + deg] * moment
                flat[i + _R * stride] = table[2, place + deg] * moment
        for i in range(_SUM, _OUT):
            flat[i] = 0.0
        for deg in range(m, top + 1, 4):
            advance(table, place + deg, deg == m, flat)
            _sum_degrees(flat, deg, stride, _W)
            _sum_degrees(flat, deg, stride, _R)
            _sum_degrees(flat, deg, stride, _WZ)
            if full:
                _sum_degrees(flat, deg, stride, _RZ)
                _sum_degrees(flat, deg, stride, _WZZ)
        _collect(flat, 0, 1.0, _W, 0)
        _collect(flat, 0, 1.0, _R, 1)
        _collect(flat, 1, m, _W, 2)
        _collect(flat, 1, 1.0, _WZ, 3)
        if full:
            _collect(flat, 1, m, _R, 4)
            _collect(flat, 1, 1.0, _RZ, 5)
            _collect(flat, 2, m * (m - 1.0), _W, 6)
            _collect(flat, 2, m - 1.0, _WZ, 7)
            _collect(flat, 2, 1.0, _WZZ, 8)
        raise_power(flat)


@njit(fastmath=FUSED)
def _set_first(running: Running, chunk: Chunk, out: Array) -> None:
    """Set out (CHUNK, 5) to W, R and N, from the sums over all (l, m)."""
    x, lo, hi = chunk
    beta, flat = running.table[3, 0], running.scratch
    for i in range(hi - lo):
        y, values = x[lo + i], flat[_OUT + i :: CHUNK]  # W, –, R, –, ∇W, –, ∇R, –, H
        for g in (8, 4):  # from ∇ to P∇/β, and in the idle place after it ⟨∇, x⟩
            level = y[0] * values[g] + y[1] * values[g + 1]
            values[g + 3] = level + y[2] * values[g + 2]
            values[g] = (values[g] - y[0] * values[g + 3]) / beta
            values[g + 1] = (values[g + 1] - y[1] * values[g + 3]) / beta
            # Near a pole ∂W/∂z is large, so 1 − z² must not be a difference.
            values[g + 2] = (values[g + 2] * (y[0] * y[0] + y[1] * y[1]) - y[2] * level) / beta
        out[i, 0], out[i, 1] = values[0], values[2]
        out[i, 2], out[i, 3], out[i, 4] = values[4], values[5], values[6]


@njit(fastmath=FUSED)
def _set_second(running: Running, chunk: Chunk, second: Array) -> None:
    """Set second (CHUNK, 3, 3) to S, after `_set_first`."""
    x, lo, hi = chunk
    beta, flat = running.table[3, 0], running.scratch
    for i in range(hi - lo):
        y, values = x[lo + i], flat[_OUT + i :: CHUNK]
        trace = beta * (values[0] + values[2]) - values[7]
        p, q, r, s, t = values[12], values[13], values[14], values[15], values[16]
        H = ((p + trace, q, r), (q, trace - p, s), (r, s, t + trace))
        h0 = H[0][0] * y[0] + H[0][1] * y[1] + H[0][2] * y[2]
        h1 = H[1][0] * y[0] + H[1][1] * y[1] + H[1][2] * y[2]
        h2 = H[2][0] * y[0] + H[2][1] * y[1] + H[2][2] * y[2]
        Hx = (h0, h1, h2)
        radial = y[0] * h0 + y[1] * h1 + y[2] * h2
        for a in range(3):
            for b in range(3):
                inner = H[a][b] - y[a] * Hx[b] - Hx[a] * y[b] + radial * y[a] * y[b]
                second[i, a, b] = inner / beta**2 + y[a] * (values[8 + b] - values[4 + b] / beta)


@njit(allocates=True)
def join_tokens(running: Running, chunk: Chunk) -> None:
    """Add the tokens of a chunk to the local sums."""
    x, lo, hi = chunk
    add_features(running, x[lo:hi], np.ones(hi - lo))


LEAVES_NEAR = True
"""Whether sums among the tokens of a chunk are left to the caller."""


@njit()
def far_sums(
    running: Running, chunk: Chunk, out: Array, radial: bool, join: bool, based: bool
) -> None:
    """Set out (CHUNK, 5) to W, R and N at the tokens of a chunk, and then `join` these.

    `radial` and `based` have no effect, since leaving a sum out would save no time.
    """
    _sum_all(running, chunk, False)
    _set_first(running, chunk, out)
    if join:
        join_tokens(running, chunk)


@njit()
def far_second(running: Running, chunk: Chunk, out: Array, second: Array) -> None:
    """Do as `far_sums` with joining, and set second (CHUNK, 3, 3) to S."""
    _sum_all(running, chunk, True)
    _set_first(running, chunk, out)
    _set_second(running, chunk, second)
    join_tokens(running, chunk)


@njit()
def far_changes(running: Running, chunk: Chunk, u: Array, out: Array, radial: bool) -> None:
    """How W, R and N at the tokens of a chunk change if every token j before it moves by u[:, j].

    To be called for one chunk after the other: the state holds the changes up to the last but one.
    """
    if chunk.lo > 0:
        add_changes(running, chunk.x, u, chunk.lo - CHUNK, chunk.lo)
    _sum_all(running, chunk, False)
    _set_first(running, chunk, out)
