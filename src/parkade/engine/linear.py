"""The flow linearised at the tokens: weights and Jacobian blocks.

Under the causal mask token k feels only tokens j ≤ k, so the Jacobian is block lower
triangular and a linear system in it is solved token by token. With p_kj, a_k, μ_k and B as
in `pairwise`, δ_j = x_j − x_k, M_k = Σ_{j≠k} p_kj δ_j δ_jᵀ, A = KᵀQ and P_k the projection
on the tangent space:

    J_kj u = p_kj P_k V [u + (δ_j − μ_k) ⟨a_k, u⟩]                           (j < k),
    J_kk   = P_k {V [−(1−p_kk) I − p_kk μ_k a_kᵀ + β (M_k − μ_k μ_kᵀ) A] + B} P_k − ⟨x_k, q_k⟩ P_k.

Off-diagonal blocks are not formed: their products with vectors are sums over the stored
weights. (Full attention couples all tokens; its Jacobian is assembled, for small systems.)
1 − p_kk is the sum of the other weights, never a difference, so that a lone token's block
keeps its relative precision however small it is.

Arrays over tokens are (d, padded n) here, so that sums over tokens are unit-stride loops;
rows of weights are padded with zeros to whole vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.jit import njit
from parkade.engine.simd import LOG2E, MAX_SCORE, exp2
from parkade.engine.system import System
from parkade.engine.tangent import FUSED, SUMS, axis, matrix_to_tangent
from parkade.engine.vectors import scalar

PAD = 16


class Linearization(NamedTuple):
    """Everything about the point of linearisation that the stages of a step need."""

    keys: Array  # (d, padded n): x_j
    weights: Array  # p_kj for the other tokens k attends to, row after row, each padded
    offsets: NDArray[np.int64]  # (n + 1,) where the rows begin; both are empty with harmonic sums
    shares: Array  # (2, n): p_kk, and that of the others together
    lone: NDArray[np.bool_]  # (n,): whether a token is summed directly though others are not
    axes: NDArray[np.int64]  # (n,): the axes of the tangent coordinates
    pull: Array  # (n, d): a_k
    mean: Array  # (n, d): μ_k
    velocity: Array  # (n, d): P_k q_k
    blocks: Array  # (n, d-1, d-1): J_kk in tangent coordinates
    moments: Array  # (d, n, d): [:, k] is M_k − μ_k μ_kᵀ, then what becomes of it
    products: Array  # (d, n, d)


@njit(cache=True, nogil=True)
def padded(n: int) -> int:
    """Round up to whole vectors."""
    return -(-n // PAD) * PAD


def allocate(n: int, d: int, *, causal: bool, stores: bool = True) -> Linearization:
    """Room for the linearisation of n tokens in dimension d; `stores` all weights or none."""
    lengths = [padded(k if causal else n) for k in range(n if stores else 0)]
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return Linearization(
        keys=np.zeros((d, padded(n))),
        weights=np.zeros(int(offsets[-1])),
        offsets=offsets,
        shares=np.empty((2, n)),
        lone=np.zeros(n, dtype=np.bool_),
        axes=np.empty(n, dtype=np.int64),
        pull=np.empty((n, d)),
        mean=np.empty((n, d)),
        velocity=np.empty((n, d)),
        blocks=np.empty((n, d - 1, d - 1)),
        moments=np.empty((d, n, d)),
        products=np.empty((d, n, d)),
    )


@njit(cache=True, nogil=True, fastmath=SUMS)
def _sum(values: Array) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True)
def _exponentiate(scores: Array, count: int, shift: float) -> None:
    for j in range(scores.size):
        scores[j] = exp2(scores[j] - shift)
    for j in range(count, scores.size):
        scores[j] = 0.0


@njit(cache=True, nogil=True, fastmath=FUSED)
def _scores(keys: Array, pull: Array, x: Array, delta: Array, out: Array) -> None:
    """Set delta_j = x_j − x_k for one token and all keys, and out_j = log2(e) ⟨a_k, delta_j⟩."""
    for j in range(out.size):
        out[j] = 0.0
    for c in range(x.size):
        a, y, row, gap = LOG2E * pull[c], x[c], keys[c], delta[c]
        for j in range(out.size):
            gap[j] = row[j] - y
            out[j] += a * gap[j]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _weigh(weights: Array, delta: Array, out: Array) -> float:
    """Set out = weights · delta, and return the sum."""
    total = 0.0
    for j in range(weights.size):
        term = weights[j] * delta[j]
        out[j] = term
        total += term
    return total


@njit(cache=True, nogil=True, fastmath=SUMS)
def _dot(left: Array, right: Array) -> float:
    total = 0.0
    for j in range(left.size):
        total += left[j] * right[j]
    return total


@njit(cache=True, nogil=True, fastmath=SUMS)
def _dots(left: Array, rows: Array, e: int, out: Array) -> None:
    """Four of `_dot` at once, with rows e … e+3: they share the loads of `left`."""
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


@njit(cache=True, nogil=True)
def _add_moments(weights: Array, delta: Array, terms: Array, mean: Array, moment: Array) -> None:
    """Add Σ w δ to `mean` and Σ w δ δᵀ to the lower half of `moment`."""
    for c in range(mean.size):
        mean[c] += _weigh(weights, delta[c], terms)
        e = 0
        while e + 4 <= c + 1:
            _dots(terms, delta, e, moment[c])
            e += 4
        while e <= c:
            moment[c, e] += _dot(terms, delta[e])
            e += 1


@njit(cache=True, nogil=True)
def _scale(stack: Array, factor: float, out: Array) -> None:
    flat, target = stack.ravel(), out.ravel()
    for i in range(flat.size):
        target[i] = factor * flat[i]


@njit(cache=True, nogil=True)
def _times(stack: Array, matrix: Array, out: Array) -> None:
    """Set out[:, k] = stack[:, k] · matrix for all k at once."""
    d, n, _ = stack.shape
    factor = scalar(matrix)
    if factor != 0.0:
        _scale(stack, factor, out)
    else:
        np.dot(stack.reshape(d * n, d), matrix, out.reshape(d * n, d))


@njit(cache=True, nogil=True)
def _times_from_left(matrix: Array, stack: Array, out: Array) -> None:
    """Set out[:, k] = matrix · stack[:, k] for all k at once."""
    d, n, _ = stack.shape
    factor = scalar(matrix)
    if factor != 0.0:
        _scale(stack, factor, out)
    else:
        np.dot(matrix, stack.reshape(d, n * d), out.reshape(d, n * d))


@njit(cache=True, nogil=True)
def linearize(system: System, beta_a: Array, x: Array, lin: Linearization) -> None:
    """Fill `lin` at the tokens `x`; `beta_a` is βKᵀQ."""
    n, d = x.shape
    m = len(system.weights)
    set_keys(x, lin)
    fixed = np.zeros((d, padded(m)))
    for j in range(m):
        for c in range(d):
            fixed[c, j] = system.frozen[j, c]
    held = np.empty(fixed.shape[1])
    delta, fixed_delta = np.empty_like(lin.keys), np.empty_like(fixed)
    terms = np.empty(max(lin.keys.shape[1], held.size))
    moment = np.empty((d, d))
    for k in range(n):
        weights = lin.weights[lin.offsets[k] : lin.offsets[k + 1]]
        length = 0.0
        own = 0.0
        for c in range(d):
            a = 0.0
            for e in range(d):
                a += beta_a[c, e] * x[k, e]
            lin.pull[k, c] = a
            length += a * a
            own += a * x[k, c]
        _scores(lin.keys, lin.pull[k], x[k], delta, weights)
        _scores(fixed, lin.pull[k], x[k], fixed_delta, held)
        shift = 0.0
        seen = k if system.causal else n
        if LOG2E * (np.sqrt(length) - own) > MAX_SCORE:
            for j in range(seen):
                shift = max(shift, weights[j])
            for j in range(m):
                shift = max(shift, held[j])
        _exponentiate(weights, seen, shift)
        if not system.causal:
            weights[k] = 0.0  # a token's own term is counted apart
        _exponentiate(held, m, shift)
        for j in range(m):
            held[j] *= system.weights[j]
        other = _sum(weights) + _sum(held)
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
    set_blocks(system, beta_a, x, lin)


@njit(cache=True, nogil=True)
def set_keys(x: Array, lin: Linearization) -> None:
    """Set what depends on the tokens only."""
    for k in range(x.shape[0]):
        lin.axes[k] = axis(x[k])
        for c in range(x.shape[1]):
            lin.keys[c, k] = x[k, c]


@njit(cache=True, nogil=True)
def set_blocks(system: System, beta_a: Array, x: Array, lin: Linearization) -> None:
    """Set velocities and blocks from the means, pulls, shares and M_k − μ_k μ_kᵀ in lin.moments."""
    n, d = x.shape
    # V [−(1−p_kk) I − p_kk μ aᵀ + β (M − μμᵀ) A], with products for all tokens at once
    _times(lin.moments, beta_a, lin.products)
    for c in range(d):
        for k in range(n):
            row, factor = lin.products[c, k], lin.shares[0, k] * lin.mean[k, c]
            for e in range(d):
                row[e] -= factor * lin.pull[k, e]
            row[c] -= lin.shares[1, k]
    _times_from_left(system.V, lin.products, lin.moments)
    _tangent_blocks(system, x, lin)


@njit(cache=True, nogil=True)
def _tangent_blocks(system: System, x: Array, lin: Linearization) -> None:
    """Set the velocities, and the blocks from their parts in lin.moments."""
    n, d = x.shape
    v_scalar = scalar(system.V)
    matrix = np.empty((d, d))
    w, left = np.empty(d), np.empty(d)
    for k in range(n):
        mean = lin.mean[k]
        radial = 0.0
        for c in range(d):
            total = v_scalar * mean[c]  # V = c·I leaves no B
            if v_scalar == 0.0:
                for e in range(d):
                    total += system.V[c, e] * mean[e] + system.B[c, e] * x[k, e]
            lin.velocity[k, c] = total
            radial += total * x[k, c]
        for c in range(d):
            lin.velocity[k, c] -= radial * x[k, c]
            for e in range(d):
                matrix[c, e] = lin.moments[c, k, e] + system.B[c, e]
        matrix_to_tangent(x[k], lin.axes[k], matrix, w, left, lin.blocks[k])
        for i in range(d - 1):
            lin.blocks[k, i, i] -= radial
