"""Attention sums of all heads of a transformer, directly over all pairs; see `field`."""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, SUMS, njit
from parkade.engine.compile.simd import LANES, MAX_SCORE, exp2
from parkade.engine.field.field import Field
from parkade.engine.field.head_tile import EDGES, PLAN
from parkade.engine.field.narrow import narrow_means, plan_tile
from parkade.engine.field.projections import Projections, end_seen, first_seen

# Two queries share the loads of keys and values, and up to four components those of scores and
# weights: with more of either, there are not enough registers. Rows of keys and values are taken
# out of whole arrays one by one: the compiler knows that each lies together in memory, and makes
# vector loops. Of rows of a part of an array it does not know that.


@njit(fastmath=FUSED)
def _score_two(
    keys: Array, row: int, start: int, first: Array, second: Array, a: Array, b: Array
) -> None:
    """Set `a` and `b` to the scores of two queries with the keys from `start` on.

    The components of the keys are rows of `keys` from `row` on.
    """
    stop = start + a.size
    m = first.size
    rest = m % 4
    if rest == 0:
        rest = 4
    k0, p0, q0 = keys[row][start:stop], first[0], second[0]
    if rest == 1:
        for j in range(a.size):
            a[j], b[j] = p0 * k0[j], q0 * k0[j]
    else:
        k1, p1, q1 = keys[row + 1][start:stop], first[1], second[1]
        if rest == 2:
            for j in range(a.size):
                a[j], b[j] = p0 * k0[j] + p1 * k1[j], q0 * k0[j] + q1 * k1[j]
        else:
            k2, p2, q2 = keys[row + 2][start:stop], first[2], second[2]
            k3, p3, q3 = keys[row + rest - 1][start:stop], first[rest - 1], second[rest - 1]
            if rest == 3:
                p3, q3 = 0.0, 0.0
            for j in range(a.size):
                a[j] = p0 * k0[j] + p1 * k1[j] + (p2 * k2[j] + p3 * k3[j])
                b[j] = q0 * k0[j] + q1 * k1[j] + (q2 * k2[j] + q3 * k3[j])
    for c in range(rest, m, 4):
        k0, k1 = keys[row + c][start:stop], keys[row + c + 1][start:stop]
        k2, k3 = keys[row + c + 2][start:stop], keys[row + c + 3][start:stop]
        p0, p1, p2, p3 = first[c], first[c + 1], first[c + 2], first[c + 3]
        q0, q1, q2, q3 = second[c], second[c + 1], second[c + 2], second[c + 3]
        for j in range(a.size):
            a[j] += p0 * k0[j] + p1 * k1[j] + (p2 * k2[j] + p3 * k3[j])
            b[j] += q0 * k0[j] + q1 * k1[j] + (q2 * k2[j] + q3 * k3[j])


@njit(fastmath=SUMS)
def _value_sums(
    a: Array, b: Array, values: Array, row: int, start: int, first: Array, second: Array
) -> tuple[float, float]:
    """Set Σ_j weight_j values_cj for two rows of weights, and return the sums of the weights.

    The components of the values are rows of `values` from `row` on, and begin at `start`.
    """
    stop = start + a.size
    r = first.size
    rest = r % 4
    s, t = 0.0, 0.0
    if rest == 0:
        for j in range(a.size):
            s += a[j]
            t += b[j]
    for c in range(rest):
        v0 = values[row + c][start:stop]
        s0, t0, s, t = 0.0, 0.0, 0.0, 0.0
        for j in range(a.size):
            s0 += a[j] * v0[j]
            t0 += b[j] * v0[j]
            s += a[j]
            t += b[j]
        first[c], second[c] = s0, t0
    for c in range(rest, r, 4):
        v0, v1 = values[row + c][start:stop], values[row + c + 1][start:stop]
        v2, v3 = values[row + c + 2][start:stop], values[row + c + 3][start:stop]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for j in range(a.size):
            x, y = a[j], b[j]
            s0 += x * v0[j]
            s1 += x * v1[j]
            s2 += x * v2[j]
            s3 += x * v3[j]
            t0 += y * v0[j]
            t1 += y * v1[j]
            t2 += y * v2[j]
            t3 += y * v3[j]
        first[c], first[c + 1], first[c + 2], first[c + 3] = s0, s1, s2, s3
        second[c], second[c + 1], second[c + 2], second[c + 3] = t0, t1, t2, t3
    return s, t


@njit()
def _power(scores: Array, base: float) -> None:
    for j in range(scores.size):
        scores[j] = exp2(scores[j] - base)


@njit()
def _largest(values: Array) -> float:
    best = values[0]
    for value in values:
        best = max(best, value)
    return float(best)


@njit()
def weigh(field: Field, h: int, k: int, query: Array, scores: Array, first: int) -> float:
    """Turn scores with the tokens first, first + 1, … into weights; that with itself becomes 0.

    Returns the weight of token k itself. The reference is its own score, so that this is 1, unless
    another score may be much larger.
    """
    slope = field.slopes[h]
    if slope != 0.0:
        for j in range(scores.size):
            scores[j] -= slope * abs(k - first - j)
    own, shift = scores[k - first], 0.0
    square = 0.0
    for c in range(query.size):
        square += query[c] * query[c]
    if math.sqrt(square) * field.reach[h] - own > MAX_SCORE:
        shift = max(0.0, _largest(scores) - own)
    _power(scores, own + shift)
    if field.followers.size > 0:
        for j in range(scores.size):
            scores[j] *= field.followers[h, k, first + j]
    scores[k - first] = 0.0
    return float(exp2(-shift))


@njit()
def _blank(scores: Array, lo: int, hi: int) -> None:
    for j in range(lo):
        scores[j] = 0.0
    for j in range(hi, scores.size):
        scores[j] = 0.0


@njit(allocates=True)
def means(field: Field, projections: Projections, lo: int, hi: int, out: Array) -> None:
    """Set ν_k of all heads for the tokens lo ≤ k < hi, (H r, hi − lo or more)."""
    n = projections.tokens.shape[0]
    scores = np.empty(n), np.empty(n)
    edges, plan = np.empty((EDGES, LANES)), np.empty(PLAN, np.int64)
    end = lo
    while end < hi:
        # The first tile may be short: under a causal mask it has the fewest keys.
        k, end = end, end + ((hi - end) % LANES or LANES)
        plan_tile(field, n, lo, k, end, edges, plan)
        for h in range(field.slopes.size):
            if not narrow_means(field, projections, h, edges, plan, out):
                _set_means(field, projections, h, k, end, scores, out.T[k - lo : end - lo])


# The error model of NumPy: what is not finite stays so, and its step is rejected.
@njit(error_model="numpy")
def _set_means(
    field: Field,
    projections: Projections,
    h: int,
    lo: int,
    hi: int,
    scores: tuple[Array, Array],
    out: Array,
) -> None:
    """ν of a head for the tokens lo ≤ k < hi, two at a time."""
    n, heads = projections.tokens.shape[0], field.slopes.size
    m, r = projections.keys.shape[0] // heads, projections.values.shape[0] // heads
    queries = projections.queries.T[:, h * m : (h + 1) * m]
    means = out[:, h * r : (h + 1) * r]
    for k in range(lo, hi, 2):
        other = min(k + 1, hi - 1)  # at an odd end the same token twice
        first = first_seen(field, k)
        end = max(end_seen(field, k, n), end_seen(field, other, n))
        one, two = scores[0][: end - first], scores[1][: end - first]
        _score_two(projections.keys, h * m, first, queries[k], queries[other], one, two)
        own = _weigh_row(field, h, k, n, first, queries[k], one)
        other_own = _weigh_row(field, h, other, n, first, queries[other], two)
        total, other_total = _value_sums(
            one, two, projections.values, h * r, first, means[k - lo], means[other - lo]
        )
        _center(total, own, projections.values, h * r, k, means[k - lo])
        if other > k:
            _center(other_total, other_own, projections.values, h * r, other, means[other - lo])


@njit()
def _weigh_row(
    field: Field, h: int, k: int, n: int, first: int, query: Array, scores: Array
) -> float:
    """`weigh` for the tokens that k attends to; the others get the weight 0."""
    begin, stop = first_seen(field, k) - first, end_seen(field, k, n) - first
    _blank(scores, begin, stop)
    return weigh(field, h, k, query, scores[begin:stop], first + begin)


@njit(error_model="numpy")
def _center(total: float, own: float, values: Array, row: int, k: int, out: Array) -> None:
    """From Σ_j w_j v_j to Σ_j w_j (v_j − v_k) / Z, where the weights without w_k have a total."""
    scale = 1.0 / (total + own)
    for c in range(out.size):
        out[c] = scale * (out[c] - total * values[row + c, k])
