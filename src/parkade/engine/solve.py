"""Linear systems in the Jacobian: forward substitution, or one matrix for full attention."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.jit import njit
from parkade.engine.linear import Linearization
from parkade.engine.simd import add_multiple
from parkade.engine.system import System
from parkade.engine.tangent import FUSED, SUMS, from_tangent, to_tangent
from parkade.engine.vectors import scalar


@njit(cache=True, nogil=True, fastmath=FUSED)
def invert(blocks: Array, diagonal: float, out: Array) -> None:
    """The inverse of diagonal·I − J for each of the blocks J, by columns.

    out[k, i] is column i of the inverse of block k, padded with zeros to whole vectors. A
    step solves with each block six times, so the inverse (Gauss–Jordan, with pivots) costs
    less than factors: applying it has no short loops that wait for each other.
    """
    count, size, width = out.shape
    pivots = np.empty(size, dtype=np.int64)
    for k in range(count):
        a = out[k]  # the transpose is inverted: its rows become columns of the inverse
        for c in range(size):
            for r in range(size):
                a[c, r] = -blocks[k, r, c]
            for r in range(size, width):
                a[c, r] = 0.0
            a[c, c] += diagonal
        for i in range(size):
            best = i
            for r in range(i + 1, size):
                if abs(a[r, i]) > abs(a[best, i]):
                    best = r
            pivots[i] = best
            if best != i:
                for c in range(width):
                    a[i, c], a[best, c] = a[best, c], a[i, c]
            inverse = 1.0 / a[i, i] if a[i, i] != 0.0 else np.inf
            a[i, i] = 1.0
            for c in range(width):
                a[i, c] *= inverse
            for r in range(size):
                if r != i:
                    factor = -a[r, i]
                    add_multiple(a, r, i, factor, width)
                    # Set afterwards: a vector load would wait for a single number's store.
                    a[r, i] = factor * inverse
        for i in range(size - 1, -1, -1):
            best = pivots[i]
            if best != i:
                for r in range(size):
                    a[r, i], a[r, best] = a[r, best], a[r, i]


@njit(cache=True, nogil=True, fastmath=FUSED)
def apply(columns: Array, z: Array, out: Array) -> None:
    """Set out = Σ_i z_i columns_i; `out` is as wide as the padded columns."""
    size, width = columns.shape
    for r in range(width):
        out[r] = 0.0
    for i in range(size):
        column, factor = columns[i], z[i]
        for r in range(width):
            out[r] += factor * column[r]


@njit(cache=True, nogil=True, fastmath=SUMS)
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


@njit(cache=True, nogil=True, fastmath=SUMS)
def _push(keys: Array, u: Array, weights: Array, along: Array, k: int, c: int, out: Array) -> None:
    """Add Σ_j p_kj u_j + Σ_j along_j (x_j − x_k) to `out`, in coordinate c."""
    row, key, own = u[c], keys[c], keys[c, k]
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * row[j] + along[j] * (key[j] - own)
    out[c] += total


@njit(cache=True, nogil=True, fastmath=SUMS)
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


@njit(cache=True, nogil=True)
def finish_room(d: int, inverses: Array) -> tuple[Array, Array, Array, Array]:
    """Room for `finish`."""
    return np.empty(d), np.empty(d), np.empty(d - 1), np.empty(inverses.shape[2])


@njit(cache=True, nogil=True, fastmath=SUMS, inline="always")
def finish(
    V: Array,
    v_scalar: float,
    keys: Array,
    axes: NDArray[np.int64],
    inverses: Array,
    k: int,
    pushed: Array,
    right: Array,
    u: Array,
    room: tuple[Array, Array, Array, Array],
) -> None:
    """Solve for u_k, given the part Σ_j p_kj [u_j + (δ_j − μ_k) ⟨a_k, u_j⟩] of tokens before it."""
    d = right.shape[1]
    x, v, z, solution = room
    for c in range(d):
        x[c] = keys[c, k]
        value = right[k, c] + v_scalar * pushed[c]
        if v_scalar == 0.0:
            for e in range(d):
                value += V[c, e] * pushed[e]
        v[c] = value
    if d == 2:  # the tangent space is a line
        step = inverses[k, 0, 0] * (x[0] * v[1] - x[1] * v[0])
        v[0], v[1] = -step * x[1], step * x[0]
    else:
        to_tangent(x, axes[k], v, z)
        apply(inverses[k], z, solution)
        from_tangent(x, axes[k], solution, v)
    for c in range(d):
        u[c, k] = v[c]


@njit(cache=True, nogil=True, fastmath=SUMS)
def solve(system: System, lin: Linearization, inverses: Array, right: Array, u: Array) -> None:
    """Solve (diagonal − J) u = right by forward substitution over the tokens.

    `right` is (n, d), tangent; `u` is (d, padded n) and must hold finite numbers.
    """
    n, d = right.shape
    v_scalar = scalar(system.V)
    along = np.empty(lin.keys.shape[1])
    pushed, room = np.empty(d), finish_room(d, inverses)
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
        finish(system.V, v_scalar, lin.keys, lin.axes, inverses, k, pushed, right, u, room)


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
            from_tangent(x[j], lin.axes[j], unit, tangent)
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
                to_tangent(x[k], lin.axes[k], pushed, column)
                for r in range(size):
                    out[k * size + r, j * size + i] = column[r]
    for k in range(n):
        for r in range(size):
            for i in range(size):
                out[k * size + r, k * size + i] = lin.blocks[k, r, i]


@njit(cache=True, nogil=True, fastmath=FUSED)
def factorize(jacobian: Array, diagonal: float, columns: Array, pivots: Array) -> None:
    """LU factors of diagonal·I − J for a whole Jacobian J, by columns; diagonals are inverted.

    Factors, not the inverse: for long steps this matrix is singular up to rounding, since
    full attention does not mind a common rotation.
    """
    size = len(pivots)
    for c in range(size):
        for r in range(size):
            columns[c, r] = -jacobian[r, c]
        columns[c, c] += diagonal
    for i in range(size):
        column = columns[i]
        best = i
        for r in range(i + 1, size):
            if abs(column[r]) > abs(column[best]):
                best = r
        pivots[i] = best
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


@njit(cache=True, nogil=True, fastmath=FUSED)
def substitute(columns: Array, pivots: Array, z: Array) -> None:
    """Solve with the factors of the whole matrix, in place."""
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


@njit(cache=True, nogil=True)
def solve_whole(lin: Linearization, columns: Array, pivots: Array, right: Array, u: Array) -> None:
    """Solve (diagonal − J) u = right with the factors of the whole matrix."""
    n, d = right.shape
    size = d - 1
    x, v, z = np.empty(d), np.empty(d), np.empty(n * size)
    for k in range(n):
        for c in range(d):
            x[c] = lin.keys[c, k]
        to_tangent(x, lin.axes[k], right[k], z[k * size : (k + 1) * size])
    substitute(columns, pivots, z)
    for k in range(n):
        for c in range(d):
            x[c] = lin.keys[c, k]
        from_tangent(x, lin.axes[k], z[k * size : (k + 1) * size], v)
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
    top = abscissa(block)
    return top if top > least else 0.0


@njit(cache=True, nogil=True)
def abscissa(block: Array) -> float:
    """The largest real part of an eigenvalue."""
    size = block.shape[0]
    if size == 1:
        return float(block[0, 0])
    if size == 2:
        half = 0.5 * (block[0, 0] + block[1, 1])
        square = 0.25 * (block[0, 0] - block[1, 1]) ** 2 + block[0, 1] * block[1, 0]
        return float(half + np.sqrt(max(0.0, square)))
    top = -np.inf
    for value in np.linalg.eigvals(block.astype(np.complex128)):
        top = max(top, value.real)
    return float(top)
