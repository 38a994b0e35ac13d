"""Direct attention sums, causal and full: tiles of queries for small d, BLAS for large.

Forces are computed without cancellation. With the query a_k = β KᵀQ x_k of token k, p_kj the
softmax of ⟨a_k, x_j⟩ over the keys x_j that it attends to, λ the largest real part of V's spectrum
and B = V − λI:

    μ_k = Σ_j p_kj (x_j − x_k),     q_k = V μ_k + B x_k,     dx_k/dt = P_k q_k.

V and B are `System.value` and `System.own_value`; queries are stored in base 2, as log2(e) a_k.

The radial λ x_k is left out of the formula instead of being projected away in floating point,
and a token's own term in μ_k is exactly zero. A lone token that feels a force of 1e-50 from
far away therefore feels it with full relative precision.

The score of a token with itself is the reference: weights are exp(⟨a_k, x_j − x_k⟩), so
Z_k ≥ 1 and what underflows does not matter. Where a weight could overflow (large β with
Q, K ≠ I), scores are shifted by the largest one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import (
    LANES,
    MAX_SCORE,
    exp2,
    tile_causal,
    tile_counted,
    tile_plain,
    tile_weighted,
)
from parkade.engine.system import Dims, System

_ROWS, _COLUMNS = 128, 256  # BLAS tiles: both operands and the weights stay in the L2 cache
CHUNK = 128  # rows per task: a multiple of _ROWS, so that tiles do not depend on it

# Rough cost of one pair (token, key) on one core with AVX2: its d coordinates cost about as much
# as each other, and the exponential and the sum of the weights as much as 8 more.
_COORDINATE_SECONDS = 1.75e-10
_EXPONENTIAL_COORDINATES = 8


def seconds(pairs: float, d: int) -> float:
    """The approximate seconds that direct sums over this number of pairs take on one core."""
    return _COORDINATE_SECONDS * pairs * (d + _EXPONENTIAL_COORDINATES)


@njit()
def velocity_rows(system: System, dims: Dims, x: Array, lo: int, hi: int, out: Array) -> None:
    """Velocities of the tokens lo ≤ k < hi."""
    rows(system, dims, x, lo, hi, out)


def rows(system: System, dims: Dims, x: Array, lo: int, hi: int, out: Array) -> None:
    """Write the velocities of tokens lo ≤ k < hi to `out`: compiled for small or large d."""
    raise TypeError("rows is called from compiled code only")


@overload(rows)
def _choose_rows(system: Any, dims: Any, x: Any, lo: Any, hi: Any, out: Any) -> Any:
    small = len(dims) > 1

    def with_tiles(system: Any, dims: Any, x: Any, lo: Any, hi: Any, out: Any) -> None:
        _means_tiles(system, dims, x, lo, hi, out)
        project(system, dims, x, lo, hi, out)

    def with_blas(system: Any, dims: Any, x: Any, lo: Any, hi: Any, out: Any) -> None:
        _means_blas(system, x, lo, hi, out)
        _project_blas(system, x, lo, hi, out)

    return with_tiles if small else with_blas


# The error model of NumPy: what is not finite stays so, and its step is rejected.
@njit(allocates=True, error_model="numpy", apart=True)
def _means_tiles(system: System, dims: Dims, x: Array, lo: int, hi: int, out: Array) -> None:
    """μ_k for small d, LANES queries at a time."""
    d = len(dims)
    n = x.shape[0]
    block = np.empty((3 * d + 2, LANES))
    flat = block.reshape(-1)
    leaders = np.empty((system.leaders.size, d))
    for i in range(len(leaders)):
        for c in range(d):
            leaders[i, c] = x[system.leaders[i], c]
    earlier = 0  # leaders before the end of a tile
    # A short tile wastes lanes, so it comes first, where causal rows are cheap.
    k1 = lo
    while k1 < hi:
        k0 = k1
        count = LANES if (hi - k0) % LANES == 0 else (hi - k0) % LANES
        k1 = k0 + count
        wide = False
        for lane in range(LANES):
            k = k0 + min(lane, count - 1)
            length = 0.0
            own = 0.0
            for c in range(d):
                a = 0.0
                for e in range(d):
                    a += system.query[c, e] * x[k, e]
                block[c, lane] = x[k, c]
                block[d + c, lane] = a
                block[2 * d + 1 + c, lane] = 0.0
                length += a * a
                own += a * x[k, c]
            reach = np.sqrt(length) - own > MAX_SCORE
            block[2 * d, lane] = 1.0 if reach else 0.0
            block[3 * d + 1, lane] = 0.0
            wide = wide or reach
        if wide:
            _shift_tile(system, dims, x, k0, count, block)
        if system.causal:
            tile_plain(flat, x, system.frozen_weights, 0, k0, k0, dims)
            tile_causal(flat, x, system.frozen_weights, k0, k1, k0, dims)
        else:
            tile_plain(flat, x, system.frozen_weights, 0, n, k0, dims)
        m = len(system.frozen_weights)
        tile_weighted(flat, system.frozen, system.frozen_weights, 0, m, k0, dims)
        while earlier < len(leaders) and system.leaders[earlier] < k1:
            earlier += 1
        tile_counted(flat, leaders, system.followers, 0, earlier, k0, dims)
        for lane in range(count):
            total = block[3 * d + 1, lane]
            for c in range(d):
                out[k0 + lane, c] = block[2 * d + 1 + c, lane] / total


@njit()
def _shift_tile(system: System, dims: Dims, x: Array, k0: int, count: int, block: Array) -> None:
    """Set the shift of each marked lane to minus its largest score.

    Lane by lane, so that a token's result does not depend on the others in its tile.
    """
    d = len(dims)
    for lane in range(LANES):
        if block[2 * d, lane] == 0.0:
            continue
        k = k0 + min(lane, count - 1)
        largest = 0.0
        for j in range(k if system.causal else x.shape[0]):
            score = 0.0
            for c in range(d):
                score += block[d + c, lane] * (x[j, c] - x[k, c])
            largest = max(largest, score)
        for j in range(system.frozen.shape[0]):
            score = 0.0
            for c in range(d):
                score += block[d + c, lane] * (system.frozen[j, c] - x[k, c])
            largest = max(largest, score)
        block[2 * d, lane] = -largest


@njit(allocates=True)
def project(system: System, dims: Dims, x: Array, lo: int, hi: int, out: Array) -> None:
    """μ_k → P_k (V μ_k + B x_k), in place."""
    d = len(dims)
    q = np.empty(d)
    for k in range(lo, hi):
        radial = 0.0
        for c in range(d):
            total = 0.0
            for e in range(d):
                total += system.value[c, e] * out[k, e] + system.own_value[c, e] * x[k, e]
            q[c] = total
            radial += total * x[k, c]
        for c in range(d):
            out[k, c] = q[c] - radial * x[k, c]


# The error model of NumPy: what is not finite stays so, and its step is rejected.
@njit(allocates=True, error_model="numpy", apart=True)
def _means_blas(system: System, x: Array, lo: int, hi: int, out: Array) -> None:
    """μ_k for large d: scores and sums by matrix products, exp in between.

    Here μ_k = (Σ_{j≠k} w_j x_j − (Σ_{j≠k} w_j) x_k) / Z_k. With the token's own term left
    out, both sums are as small as the force, so a lone token keeps its relative precision.
    """
    n, d = x.shape
    m = system.frozen.shape[0]
    buffer = np.empty(_ROWS * _COLUMNS)
    part = np.empty((_ROWS, d))
    own, shift, other = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    wide = np.empty(_ROWS, np.bool_)
    for k0 in range(lo, hi, _ROWS):
        k1 = min(hi, k0 + _ROWS)
        r = k1 - k0
        a = np.dot(x[k0:k1], system.query.T)
        for i in range(r):
            length = 0.0
            dot = 0.0
            for c in range(d):
                length += a[i, c] * a[i, c]
                dot += a[i, c] * x[k0 + i, c]
            own[i] = dot
            wide[i] = np.sqrt(length) - dot > MAX_SCORE
            shift[i] = 0.0
            other[i] = 0.0
        out[k0:k1] = 0.0
        limit = k1 if system.causal else n
        for j0 in range(0, limit, _COLUMNS):
            j1 = min(limit, j0 + _COLUMNS)
            s = buffer[: r * (j1 - j0)].reshape(r, j1 - j0)
            np.dot(a, x[j0:j1].T, s)
            for i in range(r):
                seen = min(max(k0 + i - j0, 0), j1 - j0) if system.causal else j1 - j0
                if wide[i]:
                    _raise_shift(s[i, :seen], own, shift, other, out[k0 + i], i)
                base = own[i] + shift[i]
                for j in range(seen):
                    s[i, j] = exp2(s[i, j] - base)
                s[i, seen:] = 0.0
                if j0 <= k0 + i < j1:
                    s[i, k0 + i - j0] = 0.0
                total = 0.0
                for j in range(seen):
                    total += s[i, j]
                other[i] += total
            np.dot(s, x[j0:j1], part[:r])
            out[k0:k1] += part[:r]
        for j0 in range(0, m, _COLUMNS):
            j1 = min(m, j0 + _COLUMNS)
            s = buffer[: r * (j1 - j0)].reshape(r, j1 - j0)
            np.dot(a, system.frozen[j0:j1].T, s)
            for i in range(r):
                if wide[i]:
                    _raise_shift(s[i], own, shift, other, out[k0 + i], i)
                for j in range(j1 - j0):
                    s[i, j] = system.frozen_weights[j0 + j] * exp2(s[i, j] - own[i] - shift[i])
                    other[i] += s[i, j]
            np.dot(s, system.frozen[j0:j1], part[:r])
            out[k0:k1] += part[:r]
        for i in range(r):
            for e in range(system.leaders.size):
                j = system.leaders[e]
                if j >= k0 + i:
                    break
                score = 0.0
                for c in range(d):
                    score += a[i, c] * (x[j, c] - x[k0 + i, c])
                weight = system.followers[e, k0 + i] * exp2(score - shift[i])
                other[i] += weight
                for c in range(d):
                    out[k0 + i, c] += weight * x[j, c]
            z = other[i] + exp2(-shift[i])
            for c in range(d):
                out[k0 + i, c] = (out[k0 + i, c] - other[i] * x[k0 + i, c]) / z


@njit()
def _raise_shift(
    scores: Array, own: Array, shift: Array, other: Array, sums: Array, i: int
) -> None:
    """Raise the shift of row i to its largest score so far, rescaling its sums."""
    largest = shift[i]
    for score in scores:
        largest = max(largest, score - own[i])
    if largest > shift[i]:
        scale = exp2(shift[i] - largest)
        other[i] *= scale
        for c in range(sums.size):
            sums[c] *= scale
        shift[i] = largest


@njit(allocates=True)
def _project_blas(system: System, x: Array, lo: int, hi: int, out: Array) -> None:
    q = np.dot(out[lo:hi], system.value.T) + np.dot(x[lo:hi], system.own_value.T)
    for k in range(lo, hi):
        radial = 0.0
        for c in range(x.shape[1]):
            radial += q[k - lo, c] * x[k, c]
        for c in range(x.shape[1]):
            out[k, c] = q[k - lo, c] - radial * x[k, c]
