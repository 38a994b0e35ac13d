"""The flow linearised by direct sums, whose weights are all stored; see `linearization`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, SUMS, njit
from parkade.engine.compile.simd import MAX_SCORE, exp2
from parkade.engine.jacobian.linearization import Linearization, padded, set_blocks, set_keys
from parkade.engine.system import LOG2E, System
from parkade.engine.vectors import fast_dot, fast_sum


@njit()
def _exponentiate(scores: Array, count: int, shift: float) -> None:
    for j in range(scores.size):
        scores[j] = exp2(scores[j] - shift)
    for j in range(count, scores.size):
        scores[j] = 0.0


@njit(fastmath=FUSED)
def _scores(keys: Array, query: Array, x: Array, delta: Array, out: Array) -> None:
    """Set delta_j = x_j − x_k for one token and all keys, and out_j = log2(e) ⟨a_k, delta_j⟩."""
    for j in range(out.size):
        out[j] = 0.0
    for c in range(x.size):
        a, y, row, gap = LOG2E * query[c], x[c], keys[c], delta[c]
        for j in range(out.size):
            gap[j] = row[j] - y
            out[j] += a * gap[j]


@njit(fastmath=SUMS)
def _weigh(weights: Array, delta: Array, out: Array) -> float:
    """Set out = weights · delta, and return the sum."""
    total = 0.0
    for j in range(weights.size):
        term = weights[j] * delta[j]
        out[j] = term
        total += term
    return total


@njit(fastmath=SUMS)
def _dots(left: Array, rows: Array, e: int, out: Array) -> None:
    """Four of `fast_dot` at once, with rows e … e+3: they share the loads of `left`."""
    a, b, c, d = rows[e], rows[e + 1], rows[e + 2], rows[e + 3]
    ta, tb, tc, td = 0.0, 0.0, 0.0, 0.0
    for j in range(left.size):
        value = left[j]
        ta += value * a[j]
        tb += value * b[j]
        tc += value * c[j]
        td += value * d[j]
    out[e] += ta
    out[e + 1] += tb
    out[e + 2] += tc
    out[e + 3] += td


@njit()
def _add_moments(weights: Array, delta: Array, terms: Array, mean: Array, moment: Array) -> None:
    """Add Σ w δ to `mean` and Σ w δ δᵀ to the lower half of `moment`."""
    for c in range(mean.size):
        mean[c] += _weigh(weights, delta[c], terms)
        e = 0
        while e + 4 <= c + 1:
            _dots(terms, delta, e, moment[c])
            e += 4
        while e <= c:
            moment[c, e] += fast_dot(terms, delta[e])
            e += 1


@njit(allocates=True, apart=True)
def linearize(system: System, beta_query: Array, x: Array, lin: Linearization) -> None:
    """Fill `lin` at the tokens `x`; `beta_query` is βKᵀQ."""
    d = x.shape[1]
    set_keys(x, lin)
    fixed = np.zeros((d, padded(len(system.frozen_weights))))
    held = np.empty(fixed.shape[1])
    delta, fixed_delta = np.empty_like(lin.keys), np.empty_like(fixed)
    terms = np.empty(max(lin.keys.shape[1], held.size))
    buffers = _DirectBuffers(fixed, held, delta, fixed_delta, terms, np.empty((d, d)))
    _set_moments(system, beta_query, x, lin, buffers)
    set_blocks(system, beta_query, x, lin)


class _DirectBuffers(NamedTuple):
    """Working arrays of `linearize`: frozen tokens as keys, their weights, differences, terms."""

    fixed: Array
    held: Array
    delta: Array
    fixed_delta: Array
    terms: Array
    moment: Array


@njit()
def _set_moments(
    system: System, beta_query: Array, x: Array, lin: Linearization, buffers: _DirectBuffers
) -> None:
    """Set what `set_blocks` needs."""
    n, d = x.shape
    m = len(system.frozen_weights)
    fixed, held, delta, fixed_delta, terms, moment = buffers
    for j in range(m):
        for c in range(d):
            fixed[c, j] = system.frozen[j, c]
    for k in range(n):
        weights = lin.weights[lin.offsets[k] : lin.offsets[k + 1]]
        length = 0.0
        own = 0.0
        for c in range(d):
            a = 0.0
            for e in range(d):
                a += beta_query[c, e] * x[k, e]
            lin.queries[k, c] = a
            length += a * a
            own += a * x[k, c]
        _scores(lin.keys, lin.queries[k], x[k], delta, weights)
        _scores(fixed, lin.queries[k], x[k], fixed_delta, held)
        shift = 0.0
        seen = k if system.causal else n
        if LOG2E * (np.sqrt(length) - own) > MAX_SCORE:
            for j in range(seen):
                shift = max(shift, weights[j])
            for j in range(m):
                shift = max(shift, held[j])
        _exponentiate(weights, seen, shift)
        for i in range(system.leaders.size):
            if system.leaders[i] >= k:
                break
            weights[system.leaders[i]] *= 1.0 + system.followers[i, k]
        if not system.causal:
            weights[k] = 0.0  # a token's own term is counted apart
        _exponentiate(held, m, shift)
        for j in range(m):
            held[j] *= system.frozen_weights[j]
        other = fast_sum(weights) + fast_sum(held)
        self_weight = exp2(-shift)
        z = 1.0 / (self_weight + other)
        self_weight *= z
        other *= z
        for j in range(weights.size):
            weights[j] *= z
        for j in range(m):
            held[j] *= z
        mean = lin.mean[k]
        for c in range(d):
            mean[c] = 0.0
            for e in range(d):
                moment[c, e] = 0.0
        _add_moments(weights, delta, terms[: weights.size], mean, moment)
        if m > 0:
            _add_moments(held, fixed_delta, terms[: held.size], mean, moment)
        for c in range(d):
            for e in range(c + 1):
                moment[c, e] -= mean[c] * mean[e]
                lin.moments[c, k, e] = moment[c, e]
                lin.moments[e, k, c] = moment[c, e]
        lin.shares[0, k], lin.shares[1, k] = self_weight, other
