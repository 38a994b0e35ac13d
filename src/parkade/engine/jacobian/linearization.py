"""The linearisation of plain attention at the tokens, as the stages of an implicit step need it.

Under the causal mask token k feels only tokens j ≤ k, so the Jacobian is block lower
triangular and a linear system in it is solved token by token. With p_kj, a_k, μ_k and B as
in `pairwise`, δ_j = x_j − x_k, M_k = Σ_{j≠k} p_kj δ_j δ_jᵀ and P_k the projection on the
tangent space:

    J_kj u = p_kj P_k V [u + (δ_j − μ_k) ⟨a_k, u⟩]     (j < k),
    J_kk   = P_k {V [−(1−p_kk) I − p_kk μ_k a_kᵀ + β (M_k − μ_k μ_kᵀ) KᵀQ] + B} P_k
             − ⟨x_k, q_k⟩ P_k.

Off-diagonal blocks are not formed: their products with vectors are sums over the stored
weights, or harmonic sums. (Full attention couples all tokens; its Jacobian is assembled, for
small systems.) 1 − p_kk is the sum of the other weights, never a difference, so that a lone
token's block keeps its relative precision however small it is.

Arrays over tokens are (d, padded n) here, so that sums over tokens are unit-stride loops;
rows of weights are padded with zeros to whole vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.jacobian.tangent import axis, matrix_to_tangent
from parkade.engine.system import System
from parkade.engine.vectors import scalar

PAD = 16


class Linearization(NamedTuple):
    """The linearisation at a state: all that the stages of a step need of it."""

    keys: Array  # (d, padded n): x_j, coordinate by coordinate
    weights: Array  # p_kj for the other tokens k attends to, row after row, each padded
    offsets: NDArray[np.int64]  # (n + 1,) where the rows begin; both are empty with harmonic sums
    shares: Array  # (4, n): p_kk, that of the others together; with `queries`, 1/Z_k and a shift
    lone: NDArray[np.bool_]  # (n,): whether a token is summed directly though others are not
    axes: NDArray[np.int64]  # (n,): the axes of the tangent coordinates
    queries: Array  # (n, d): a_k = β KᵀQ x_k
    mean: Array  # (n, d): μ_k
    velocity: Array  # (n, d): P_k q_k
    blocks: Array  # (n, d-1, d-1): J_kk in tangent coordinates
    moments: Array  # (d, n, d): [:, k] is M_k − μ_k μ_kᵀ, then what becomes of it
    products: Array  # (d, n, d)


@register_jitable
def padded(n: int) -> int:
    """Round up to whole vectors."""
    return -(-n // PAD) * PAD


def allocate(n: int, d: int, *, causal: bool, stores: bool = True) -> Linearization:
    """Arrays for the linearisation of n tokens in dimension d; `stores` all weights or none."""
    lengths = [padded(k if causal else n) for k in range(n if stores else 0)]
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return Linearization(
        keys=np.zeros((d, padded(n))),
        weights=np.zeros(int(offsets[-1])),
        offsets=offsets,
        shares=np.zeros((4, n)),
        lone=np.zeros(n, dtype=np.bool_),
        axes=np.empty(n, dtype=np.int64),
        queries=np.empty((n, d)),
        mean=np.empty((n, d)),
        velocity=np.empty((n, d)),
        blocks=np.empty((n, d - 1, d - 1)),
        moments=np.empty((d, n, d)),
        products=np.empty((d, n, d)),
    )


@njit()
def set_keys(x: Array, lin: Linearization) -> None:
    """Set what depends on the tokens only."""
    for k in range(x.shape[0]):
        lin.axes[k] = axis(x[k])
        for c in range(x.shape[1]):
            lin.keys[c, k] = x[k, c]


@njit()
def _scale(stack: Array, factor: float, out: Array) -> None:
    flat, target = stack.reshape(stack.size), out.reshape(out.size)
    for i in range(flat.size):
        target[i] = factor * flat[i]


@njit(allocates=True)
def _times(stack: Array, matrix: Array, out: Array) -> None:
    """Set out[:, k] = stack[:, k] · matrix for all k at once."""
    d, n, _ = stack.shape
    factor = scalar(matrix)
    if factor != 0.0:
        _scale(stack, factor, out)
    else:
        np.dot(stack.reshape(d * n, d), matrix, out.reshape(d * n, d))


@njit(allocates=True)
def _times_from_left(matrix: Array, stack: Array, out: Array) -> None:
    """Set out[:, k] = matrix · stack[:, k] for all k at once."""
    d, n, _ = stack.shape
    factor = scalar(matrix)
    if factor != 0.0:
        _scale(stack, factor, out)
    else:
        np.dot(matrix, stack.reshape(d, n * d), out.reshape(d, n * d))


@njit()
def set_blocks(system: System, beta_query: Array, x: Array, lin: Linearization) -> None:
    """Set velocities and blocks from means, queries, shares and M_k − μ_k μ_kᵀ in lin.moments."""
    n, d = x.shape
    # V [−(1−p_kk) I − p_kk μ aᵀ + β (M − μμᵀ) KᵀQ], with products for all tokens at once
    _times(lin.moments, beta_query, lin.products)
    for c in range(d):
        for k in range(n):
            row, factor = lin.products[c, k], lin.shares[0, k] * lin.mean[k, c]
            for e in range(d):
                row[e] -= factor * lin.queries[k, e]
            row[c] -= lin.shares[1, k]
    _times_from_left(system.value, lin.products, lin.moments)
    _tangent_blocks(system, x, lin)


@njit(allocates=True)
def _tangent_blocks(system: System, x: Array, lin: Linearization) -> None:
    """Set the velocities, and the blocks from their parts in lin.moments."""
    d = x.shape[1]
    _set_tangent_blocks(system, x, lin, (np.empty((d, d)), np.empty(d), np.empty(d)))


# A function of its own, like other long loops, because those that make arrays count references.
@njit()
def _set_tangent_blocks(
    system: System, x: Array, lin: Linearization, room: tuple[Array, Array, Array]
) -> None:
    n, d = x.shape
    v_scalar = scalar(system.value)
    matrix, w, left = room
    for k in range(n):
        mean = lin.mean[k]
        radial = 0.0
        for c in range(d):
            total = v_scalar * mean[c]  # V = c·I leaves no B
            if v_scalar == 0.0:
                for e in range(d):
                    total += system.value[c, e] * mean[e] + system.own_value[c, e] * x[k, e]
            lin.velocity[k, c] = total
            radial += total * x[k, c]
        for c in range(d):
            lin.velocity[k, c] -= radial * x[k, c]
            for e in range(d):
                matrix[c, e] = lin.moments[c, k, e] + system.own_value[c, e]
        matrix_to_tangent(x[k], lin.axes[k], matrix, w, left, lin.blocks[k])
        for i in range(d - 1):
            lin.blocks[k, i, i] -= radial
