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
    blocks: Array  # (n, d-1, d-1): J_kk in tangent coordinates


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
        blocks=np.empty((n, d - 1, d - 1)),
    )


@njit(cache=True, nogil=True, fastmath=_SUMS)
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


@njit(cache=True, nogil=True)
def _scores(keys: Array, pull: Array, x: Array, out: Array) -> None:
    """Base-2 scores ⟨a_k, x_j − x_k⟩ of one token with all keys."""
    a, y, row = LOG2E * pull[0], x[0], keys[0]
    for j in range(out.size):
        out[j] = a * (row[j] - y)
    for c in range(1, x.size):
        a, y, row = LOG2E * pull[c], x[c], keys[c]
        for j in range(out.size):
            out[j] += a * (row[j] - y)


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _moment(weights: Array, keys: Array, x: float, out: Array) -> float:
    """Σ w (y − x), the terms of which go to `out`."""
    total = 0.0
    for j in range(weights.size):
        term = weights[j] * (keys[j] - x)
        out[j] = term
        total += term
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _product(terms: Array, keys: Array, x: float) -> float:
    """Σ terms (y − x)."""
    total = 0.0
    for j in range(terms.size):
        total += terms[j] * (keys[j] - x)
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _products(terms: Array, keys: Array, x: Array, e: int, out: Array) -> None:
    """Four of `_product` at once, for coordinates e … e+3: they share the loads of terms."""
    a, b, c, d = keys[e], keys[e + 1], keys[e + 2], keys[e + 3]
    xa, xb, xc, xd = x[e], x[e + 1], x[e + 2], x[e + 3]
    ta, tb, tc, td = 0.0, 0.0, 0.0, 0.0
    for j in range(terms.size):
        term = terms[j]
        ta += term * (a[j] - xa)
        tb += term * (b[j] - xb)
        tc += term * (c[j] - xc)
        td += term * (d[j] - xd)
    out[e] += ta
    out[e + 1] += tb
    out[e + 2] += tc
    out[e + 3] += td


@njit(cache=True, nogil=True)
def _add_moments(
    weights: Array, keys: Array, x: Array, terms: Array, mean: Array, moment: Array
) -> None:
    """Add Σ w (y − x) to `mean` and Σ w (y − x)(y − x)ᵀ to `moment` (lower half)."""
    for c in range(x.size):
        mean[c] += _moment(weights, keys[c], x[c], terms)
        e = 0
        while e + 4 <= c + 1:
            _products(terms, keys, x, e, moment[c])
            e += 4
        while e <= c:
            moment[c, e] += _product(terms, keys[e], x[e])
            e += 1


# Tangent coordinates at x: the Householder reflection H = I − w wᵀ/(1 + |x_0|) with w = x ± e_0
# takes x to ∓e_0, so its other columns are an orthonormal basis of the tangent space. It is
# applied as it stands, in d operations instead of d².
@njit(cache=True, nogil=True)
def to_tangent(x: Array, v: Array, z: Array) -> None:
    """Set z (d-1,) to the tangent coordinates of v (d,)."""
    d = x.size
    total = (x[0] + (1.0 if x[0] >= 0 else -1.0)) * v[0]
    for c in range(1, d):
        total += x[c] * v[c]
    total /= 1.0 + abs(x[0])
    for c in range(1, d):
        z[c - 1] = v[c] - x[c] * total


@njit(cache=True, nogil=True)
def from_tangent(x: Array, z: Array, v: Array) -> None:
    """Set v (d,) to the tangent vector with coordinates z (d-1,)."""
    d = x.size
    total = 0.0
    for c in range(1, d):
        total += x[c] * z[c - 1]
    total /= 1.0 + abs(x[0])
    v[0] = -(x[0] + (1.0 if x[0] >= 0 else -1.0)) * total
    for c in range(1, d):
        v[c] = z[c - 1] - x[c] * total


@njit(cache=True, nogil=True)
def _matrix_to_tangent(x: Array, matrix: Array, w: Array, left: Array, out: Array) -> None:
    """Set out (d-1, d-1) to a matrix (d, d), which is spoiled, in tangent coordinates."""
    d = x.size
    scale = 1.0 / (1.0 + abs(x[0]))
    for c in range(d):
        w[c] = x[c]
        left[c] = 0.0
    w[0] += 1.0 if x[0] >= 0 else -1.0
    for r in range(d):  # matrix ← matrix H;  left ← wᵀ matrix
        total = 0.0
        for c in range(d):
            total += matrix[r, c] * w[c]
        total *= scale
        for c in range(d):
            matrix[r, c] -= total * w[c]
            left[c] += w[r] * matrix[r, c]
    for r in range(1, d):
        factor = scale * w[r]
        for c in range(1, d):
            out[r - 1, c - 1] = matrix[r, c] - factor * left[c]


@njit(cache=True, nogil=True)
def _scalar(matrix: Array) -> bool:
    """Whether a matrix is a multiple of the identity."""
    for r in range(matrix.shape[0]):
        for c in range(matrix.shape[1]):
            if matrix[r, c] != (matrix[0, 0] if r == c else 0.0):
                return False
    return True


@njit(cache=True, nogil=True)
def _multiply(left: Array, right: Array, scalar: float, out: Array) -> None:
    """Set out = left · right; `scalar` stands for a factor that is a multiple of I, if not 0."""
    d = out.shape[0]
    for r in range(d):
        for c in range(d):
            out[r, c] = scalar * right[r, c]
        if scalar == 0.0:
            for i in range(d):
                factor = left[r, i]
                for c in range(d):
                    out[r, c] += factor * right[i, c]


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
    terms = np.empty(max(lin.keys.shape[1], held.size))
    moment = np.empty((d, d))
    inner = np.empty((d, d))
    w, left = np.empty(d), np.empty(d)
    a_scalar = beta_a[0, 0] if _scalar(beta_a) else 0.0
    v_scalar = system.V[0, 0] if _scalar(system.V) else 0.0
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
        mean = lin.mean[k]
        for c in range(d):
            mean[c] = 0.0
            for e in range(d):
                moment[c, e] = 0.0
        _add_moments(weights, lin.keys, x[k], terms[: weights.size], mean, moment)
        if m > 0:
            _add_moments(held, fixed, x[k], terms[: held.size], mean, moment)
        for c in range(d):
            for e in range(c + 1):
                moment[c, e] -= mean[c] * mean[e]
                moment[e, c] = moment[c, e]
        # inner = −(1−p_kk) I − p_kk μ aᵀ + β (M − μμᵀ) A
        if a_scalar != 0.0:
            _multiply(beta_a, moment, a_scalar, inner)
        else:
            _multiply(moment, beta_a, 0.0, inner)
        for c in range(d):
            for e in range(d):
                inner[c, e] -= self_weight * mean[c] * lin.pull[k, e]
            inner[c, c] -= other
        radial = 0.0
        for c in range(d):
            total = 0.0
            for e in range(d):
                total += system.V[c, e] * mean[e] + system.B[c, e] * x[k, e]
            lin.velocity[k, c] = total
            radial += total * x[k, c]
        for c in range(d):
            lin.velocity[k, c] -= radial * x[k, c]
        _multiply(system.V, inner, v_scalar, moment)
        for c in range(d):
            for e in range(d):
                moment[c, e] += system.B[c, e]
        _matrix_to_tangent(x[k], moment, w, left, lin.blocks[k])
        for i in range(d - 1):
            lin.blocks[k, i, i] -= radial


@njit(cache=True, nogil=True)
def padded_length(n: int) -> int:
    """`padded` for compiled code."""
    return -(-n // PAD) * PAD


@njit(cache=True, nogil=True)
def factorize(blocks: Array, diagonal: float, factors: Array, pivots: Array) -> None:
    """LU factors of diagonal·I − J for each of the blocks J.

    They are stored by columns, which makes every inner loop here and in `_solve_block` run
    along memory without waiting for its own last result; diagonals are inverted.
    """
    count, size = pivots.shape
    for k in range(count):
        columns = factors[k]
        for c in range(size):
            for r in range(size):
                columns[c, r] = -blocks[k, r, c]
            columns[c, c] += diagonal
        for i in range(size):
            column = columns[i]
            best = i
            for r in range(i + 1, size):
                if abs(column[r]) > abs(column[best]):
                    best = r
            pivots[k, i] = best
            if best != i:
                for c in range(size):
                    columns[c, i], columns[c, best] = columns[c, best], columns[c, i]
            inverse = 1.0 / column[i] if column[i] != 0.0 else np.inf
            column[i] = inverse
            for r in range(i + 1, size):
                column[r] *= inverse
            for c in range(i + 1, size):
                other = columns[c]
                factor = other[i]
                for r in range(i + 1, size):
                    other[r] -= factor * column[r]


@njit(cache=True, nogil=True)
def _solve_block(columns: Array, pivots: Array, z: Array) -> None:
    """Solve with the factors of one block, in place."""
    size = z.size
    for i in range(size):
        best = pivots[i]
        z[i], z[best] = z[best], z[i]
    for i in range(size):
        column, factor = columns[i], z[i]
        for r in range(i + 1, size):
            z[r] -= factor * column[r]
    for i in range(size - 1, -1, -1):
        column = columns[i]
        factor = z[i] * column[i]
        z[i] = factor
        for r in range(i):
            z[r] -= factor * column[r]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _along(pull: Array, u: Array, weights: Array, out: Array) -> float:
    """Set out_j = p_kj ⟨a_k, u_j⟩, and return the sum; few passes over `out` if d is large."""
    d = pull.size
    first = d % 4
    for j in range(out.size):
        out[j] = 0.0
    for c in range(first):
        a, row = pull[c], u[c]
        for j in range(out.size):
            out[j] += a * row[j]
    for c in range(first, d, 4):
        a0, a1, a2, a3 = pull[c], pull[c + 1], pull[c + 2], pull[c + 3]
        r0, r1, r2, r3 = u[c], u[c + 1], u[c + 2], u[c + 3]
        for j in range(out.size):
            out[j] += a0 * r0[j] + a1 * r1[j] + (a2 * r2[j] + a3 * r3[j])
    total = 0.0
    for j in range(out.size):
        out[j] *= weights[j]
        total += out[j]
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _push(keys: Array, u: Array, weights: Array, along: Array, k: int, c: int, out: Array) -> None:
    """Add Σ_j p_kj u_j + Σ_j along_j (x_j − x_k) to `out`, in coordinate c."""
    row, key, own = u[c], keys[c], keys[c, k]
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * row[j] + along[j] * (key[j] - own)
    out[c] += total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _push_two(
    keys: Array, u: Array, weights: Array, along: Array, k: int, c: int, out: Array
) -> None:
    """`_push` in coordinates c and c + 1, which share half of the loads."""
    row, key, own = u[c], keys[c], keys[c, k]
    row2, key2, own2 = u[c + 1], keys[c + 1], keys[c + 1, k]
    total, total2 = 0.0, 0.0
    for j in range(weights.size):
        total += weights[j] * row[j] + along[j] * (key[j] - own)
        total2 += weights[j] * row2[j] + along[j] * (key2[j] - own2)
    out[c] += total
    out[c + 1] += total2


@njit(cache=True, nogil=True, fastmath=_SUMS)
def solve(
    system: System, lin: Linearization, factors: Array, pivots: Array, right: Array, u: Array
) -> None:
    """Solve (diagonal − J) u = right by forward substitution over the tokens.

    `right` is (n, d), tangent; `u` is (d, padded n) and must hold finite numbers.
    """
    n, d = right.shape
    along = np.empty(lin.keys.shape[1])
    x, v, pushed, z = np.empty(d), np.empty(d), np.empty(d), np.empty(d - 1)
    for k in range(n):
        weights = lin.weights[lin.offsets[k] : lin.offsets[k + 1]]
        count = weights.size
        # Σ_j p_kj [u_j + (δ_j − μ_k) ⟨a_k, u_j⟩]
        total = _along(lin.pull[k], u, weights, along[:count])
        for c in range(d):
            pushed[c] = -total * lin.mean[k, c]
        for c in range(0, d - 1, 2):
            _push_two(lin.keys, u, weights, along[:count], k, c, pushed)
        if d % 2 == 1:
            _push(lin.keys, u, weights, along[:count], k, d - 1, pushed)
        for c in range(d):
            x[c] = lin.keys[c, k]
            value = right[k, c]
            for e in range(d):
                value += system.V[c, e] * pushed[e]
            v[c] = value
        to_tangent(x, v, z)
        _solve_block(factors[k], pivots[k], z)
        from_tangent(x, z, v)
        for c in range(d):
            u[c, k] = v[c]


@njit(cache=True, nogil=True)
def assemble(system: System, lin: Linearization, out: Array) -> None:
    """The whole Jacobian in tangent coordinates: for full attention, which has no order."""
    n, d = lin.mean.shape
    size = d - 1
    x = np.empty((n, d))
    for k in range(n):
        for c in range(d):
            x[k, c] = lin.keys[c, k]
    unit, tangent = np.zeros(size), np.empty(d)
    push, pushed, column = np.empty(d), np.empty(d), np.empty(size)
    for j in range(n):
        for i in range(size):
            unit[i] = 1.0
            from_tangent(x[j], unit, tangent)
            unit[i] = 0.0
            for k in range(n):
                weight = lin.weights[lin.offsets[k] + j]
                along = 0.0
                for c in range(d):
                    along += lin.pull[k, c] * tangent[c]
                for c in range(d):
                    push[c] = tangent[c] + (x[j, c] - x[k, c] - lin.mean[k, c]) * along
                for c in range(d):
                    total = 0.0
                    for e in range(d):
                        total += system.V[c, e] * push[e]
                    pushed[c] = weight * total
                to_tangent(x[k], pushed, column)
                for r in range(size):
                    out[k * size + r, j * size + i] = column[r]
    for k in range(n):
        for r in range(size):
            for i in range(size):
                out[k * size + r, k * size + i] = lin.blocks[k, r, i]


@njit(cache=True, nogil=True)
def solve_whole(lin: Linearization, matrix: Array, pivots: Array, right: Array, u: Array) -> None:
    """Solve (diagonal − J) u = right with the factors of the whole matrix."""
    n, d = right.shape
    size = d - 1
    x, v, z = np.empty(d), np.empty(d), np.empty(n * size)
    for k in range(n):
        for c in range(d):
            x[c] = lin.keys[c, k]
        to_tangent(x, right[k], z[k * size : (k + 1) * size])
    _solve_block(matrix, pivots, z)
    for k in range(n):
        for c in range(d):
            x[c] = lin.keys[c, k]
        from_tangent(x, z[k * size : (k + 1) * size], v)
        for c in range(d):
            u[c, k] = v[c]


@njit(cache=True, nogil=True)
def growth(block: Array, least: float) -> float:
    """The fastest growth rate, the largest real part of an eigenvalue, if above `least`, else 0."""
    size = block.shape[0]
    bound = 0.0  # Gershgorin: most blocks are seen to be slow without an eigenvalue
    for i in range(size):
        radius = block[i, i]
        for j in range(size):
            if j != i:
                radius += abs(block[i, j])
        bound = max(bound, radius)
    if bound <= least:
        return 0.0
    if size == 1:
        return bound
    top = 0.0
    if size == 2:
        half = 0.5 * (block[0, 0] + block[1, 1])
        square = 0.25 * (block[0, 0] - block[1, 1]) ** 2 + block[0, 1] * block[1, 0]
        top = half + np.sqrt(max(0.0, square))
    else:
        for value in np.linalg.eigvals(block.astype(np.complex128)):
            top = max(top, value.real)
    return float(top) if top > least else 0.0
