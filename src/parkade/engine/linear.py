"""The flow linearised at the tokens: weights, Jacobian blocks, forward substitution.

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
from numba import njit

from parkade.engine.pairwise import System
from parkade.engine.simd import LOG2E, MAX_SCORE, exp2
from parkade.types import Array

PAD = 16
_SUMS = {"reassoc", "contract", "nsz"}  # let the compiler split a sum over vector lanes


class Linearization(NamedTuple):
    """Everything about the point of linearisation that the stages of a step need."""

    keys: Array  # (d, padded n): x_j
    weights: Array  # p_kj for the other tokens k attends to, row after row, each padded
    offsets: Array  # (n + 1,) where the rows begin
    pull: Array  # (n, d): a_k
    mean: Array  # (n, d): μ_k
    velocity: Array  # (n, d): P_k q_k
    basis: Array  # (n, d, d-1): orthonormal bases of the tangent spaces
    blocks: Array  # (n, d-1, d-1): J_kk in these bases


def padded(n: int) -> int:
    """Round up to whole vectors."""
    return -(-n // PAD) * PAD


def allocate(n: int, d: int, *, causal: bool) -> Linearization:
    """Room for the linearisation of n tokens in dimension d."""
    lengths = [padded(k if causal else n) for k in range(n)]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Linearization(
        keys=np.zeros((d, padded(n))),
        weights=np.zeros(int(offsets[-1])),
        offsets=offsets,
        pull=np.empty((n, d)),
        mean=np.empty((n, d)),
        velocity=np.empty((n, d)),
        basis=np.empty((n, d, d - 1)),
        blocks=np.empty((n, d - 1, d - 1)),
    )


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _sum(values: Array) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _second_moment(weights: Array, left: Array, right: Array, x: float, y: float) -> float:
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * (left[j] - x) * (right[j] - y)
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _first_moment(weights: Array, keys: Array, x: float) -> float:
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * (keys[j] - x)
    return total


@njit(cache=True, nogil=True)
def _exponentiate(scores: Array, count: int, shift: float) -> None:
    for j in range(scores.size):
        scores[j] = exp2(scores[j] - shift)
    for j in range(count, scores.size):
        scores[j] = 0.0


@njit(cache=True, nogil=True)
def _scores(keys: Array, pull: Array, x: Array, out: Array) -> None:
    """Base-2 scores ⟨a_k, x_j − x_k⟩ of one token with all keys."""
    for j in range(out.size):
        out[j] = 0.0
    for c in range(x.size):
        a, y = LOG2E * pull[c], x[c]
        row = keys[c]
        for j in range(out.size):
            out[j] += a * (row[j] - y)


@njit(cache=True, nogil=True)
def _tangent_basis(x: Array, basis: Array) -> None:
    """Columns orthonormal and orthogonal to x: all but the first of a Householder matrix."""
    d = x.size
    sign = 1.0 if x[0] >= 0 else -1.0
    scale = 1.0 / (1.0 + abs(x[0]))
    for i in range(1, d):
        basis[0, i - 1] = -sign * x[i]
        for c in range(1, d):
            basis[c, i - 1] = (1.0 if c == i else 0.0) - x[c] * x[i] * scale


@njit(cache=True, nogil=True)
def linearize(system: System, beta_a: Array, x: Array, lin: Linearization) -> None:
    """Fill `lin` at the tokens `x`; `beta_a` is βKᵀQ."""
    n, d = x.shape
    m = len(system.weights)
    for k in range(n):
        for c in range(d):
            lin.keys[c, k] = x[k, c]
    fixed = np.zeros((d, padded_length(m)))
    for j in range(m):
        for c in range(d):
            fixed[c, j] = system.frozen[j, c]
    held = np.empty(fixed.shape[1])
    moment = np.empty((d, d))
    inner = np.empty((d, d))
    product = np.empty((d, d))
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
        _scores(lin.keys, lin.pull[k], x[k], weights)
        _scores(fixed, lin.pull[k], x[k], held)
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
        for c in range(d):
            lin.mean[k, c] = _first_moment(weights, lin.keys[c], x[k, c]) + _first_moment(
                held, fixed[c], x[k, c]
            )
        for c in range(d):
            for e in range(c + 1):
                total = _second_moment(
                    weights, lin.keys[c], lin.keys[e], x[k, c], x[k, e]
                ) + _second_moment(held, fixed[c], fixed[e], x[k, c], x[k, e])
                total -= lin.mean[k, c] * lin.mean[k, e]
                moment[c, e] = total
                moment[e, c] = total
        # inner = −(1−p_kk) I − p_kk μ aᵀ + β (M − μμᵀ) A
        for c in range(d):
            for e in range(d):
                total = -self_weight * lin.mean[k, c] * lin.pull[k, e]
                for i in range(d):
                    total += moment[c, i] * beta_a[i, e]
                inner[c, e] = total
            inner[c, c] -= other
        radial = 0.0
        for c in range(d):
            total = 0.0
            for e in range(d):
                total += system.V[c, e] * lin.mean[k, e] + system.B[c, e] * x[k, e]
            lin.velocity[k, c] = total
            radial += total * x[k, c]
        for c in range(d):
            lin.velocity[k, c] -= radial * x[k, c]
        for c in range(d):
            for e in range(d):
                total = system.B[c, e]
                for i in range(d):
                    total += system.V[c, i] * inner[i, e]
                product[c, e] = total
        basis = lin.basis[k]
        _tangent_basis(x[k], basis)
        for i in range(d - 1):
            for c in range(d):
                total = 0.0
                for e in range(d):
                    total += product[c, e] * basis[e, i]
                inner[c, i] = total
            for j in range(d - 1):
                total = 0.0
                for c in range(d):
                    total += basis[c, j] * inner[c, i]
                lin.blocks[k, j, i] = total
            lin.blocks[k, i, i] -= radial


@njit(cache=True, nogil=True)
def padded_length(n: int) -> int:
    """`padded` for compiled code."""
    return -(-n // PAD) * PAD


@njit(cache=True, nogil=True)
def factorize(blocks: Array, diagonal: float, factors: Array, pivots: Array) -> None:
    """LU factors, with inverted diagonals, of diagonal·I − J for each of the blocks J."""
    count, size = pivots.shape
    for k in range(count):
        matrix = factors[k]
        for i in range(size):
            for j in range(size):
                matrix[i, j] = -blocks[k, i, j]
            matrix[i, i] += diagonal
        for i in range(size):
            best = i
            for r in range(i + 1, size):
                if abs(matrix[r, i]) > abs(matrix[best, i]):
                    best = r
            pivots[k, i] = best
            if best != i:
                for c in range(size):
                    matrix[i, c], matrix[best, c] = matrix[best, c], matrix[i, c]
            inverse = 1.0 / matrix[i, i] if matrix[i, i] != 0.0 else np.inf
            matrix[i, i] = inverse
            for r in range(i + 1, size):
                factor = matrix[r, i] * inverse
                matrix[r, i] = factor
                for c in range(i + 1, size):
                    matrix[r, c] -= factor * matrix[i, c]


@njit(cache=True, nogil=True)
def _solve_block(matrix: Array, pivots: Array, z: Array) -> None:
    """Solve with the factors of one block, in place."""
    size = z.size
    for i in range(size):
        best = pivots[i]
        z[i], z[best] = z[best], z[i]
    for i in range(size):
        for c in range(i):
            z[i] -= matrix[i, c] * z[c]
    for i in range(size - 1, -1, -1):
        for c in range(i + 1, size):
            z[i] -= matrix[i, c] * z[c]
        z[i] *= matrix[i, i]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def solve(
    system: System, lin: Linearization, factors: Array, pivots: Array, right: Array, u: Array
) -> None:
    """Solve (diagonal − J) u = right by forward substitution over the tokens.

    `right` is (n, d), tangent; `u` is (d, padded n) and must hold finite numbers.
    """
    n, d = right.shape
    size = d - 1
    along = np.empty(lin.keys.shape[1])
    pushed = np.empty(d)
    z = np.empty(size)
    for k in range(n):
        weights = lin.weights[lin.offsets[k] : lin.offsets[k + 1]]
        count = weights.size
        # Σ_j p_kj [u_j + (δ_j − μ_k) ⟨a_k, u_j⟩]
        for j in range(count):
            along[j] = 0.0
        for c in range(d):
            a = lin.pull[k, c]
            row = u[c]
            for j in range(count):
                along[j] += a * row[j]
        total = 0.0
        for j in range(count):
            along[j] *= weights[j]
            total += along[j]
        for c in range(d):
            row, key, x = u[c], lin.keys[c], lin.keys[c, k]
            value = 0.0
            for j in range(count):
                value += weights[j] * row[j] + along[j] * (key[j] - x)
            pushed[c] = value - total * lin.mean[k, c]
        for i in range(size):
            z[i] = 0.0
        for c in range(d):
            value = right[k, c]
            for e in range(d):
                value += system.V[c, e] * pushed[e]
            for i in range(size):
                z[i] += lin.basis[k, c, i] * value
        _solve_block(factors[k], pivots[k], z)
        for c in range(d):
            value = 0.0
            for i in range(size):
                value += lin.basis[k, c, i] * z[i]
            u[c, k] = value


@njit(cache=True, nogil=True)
def assemble(system: System, lin: Linearization, out: Array) -> None:
    """The whole Jacobian in the tangent bases: for full attention, which has no order."""
    n, d, size = lin.basis.shape
    column = np.empty(d)
    for k in range(n):
        weights = lin.weights[lin.offsets[k] : lin.offsets[k + 1]]
        for j in range(n):
            for i in range(size):
                along = 0.0
                for c in range(d):
                    along += lin.pull[k, c] * lin.basis[j, c, i]
                for c in range(d):
                    delta = lin.keys[c, j] - lin.keys[c, k] - lin.mean[k, c]
                    column[c] = weights[j] * (lin.basis[j, c, i] + delta * along)
                for r in range(size):
                    total = 0.0
                    for c in range(d):
                        value = 0.0
                        for e in range(d):
                            value += system.V[c, e] * column[e]
                        total += lin.basis[k, c, r] * value
                    out[k * size + r, j * size + i] = total
        for r in range(size):
            for i in range(size):
                out[k * size + r, k * size + i] = lin.blocks[k, r, i]


@njit(cache=True, nogil=True)
def solve_whole(lin: Linearization, matrix: Array, pivots: Array, right: Array, u: Array) -> None:
    """Solve (diagonal − J) u = right with the factors of the whole matrix."""
    n, d, size = lin.basis.shape
    z = np.zeros(n * size)
    for k in range(n):
        for i in range(size):
            for c in range(d):
                z[k * size + i] += lin.basis[k, c, i] * right[k, c]
    _solve_block(matrix, pivots, z)
    for k in range(n):
        for c in range(d):
            value = 0.0
            for i in range(size):
                value += lin.basis[k, c, i] * z[k * size + i]
            u[c, k] = value


@njit(cache=True, nogil=True)
def growth(block: Array) -> float:
    """Largest eigenvalue of the symmetric part of a matrix, if positive, else 0."""
    size = block.shape[0]
    bound = 0.0  # Gershgorin: most blocks are seen to be stable without an eigenvalue
    for i in range(size):
        radius = block[i, i]
        for j in range(size):
            if j != i:
                radius += 0.5 * abs(block[i, j] + block[j, i])
        bound = max(bound, radius)
    if bound == 0.0 or size == 1:
        return bound
    return float(max(0.0, np.linalg.eigvalsh(0.5 * (block + block.T))[-1]))
