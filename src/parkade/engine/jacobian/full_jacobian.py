"""Linear systems in the Jacobian of full attention: one matrix couples all tokens."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, njit
from parkade.engine.jacobian.linearization import Linearization
from parkade.engine.jacobian.tangent import from_tangent, to_tangent
from parkade.engine.system import System


@njit(allocates=True)
def assemble(system: System, lin: Linearization, out: Array) -> None:
    """Set `out` to the whole Jacobian in tangent coordinates."""
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
                    along += lin.queries[k, c] * tangent[c]
                for c in range(d):
                    push[c] = tangent[c] + (x[j, c] - x[k, c] - lin.mean[k, c]) * along
                for c in range(d):
                    total = 0.0
                    for e in range(d):
                        total += system.value[c, e] * push[e]
                    pushed[c] = weight * total
                to_tangent(x[k], lin.axes[k], pushed, column)
                for r in range(size):
                    out[k * size + r, j * size + i] = column[r]
    for k in range(n):
        for r in range(size):
            for i in range(size):
                out[k * size + r, k * size + i] = lin.blocks[k, r, i]


@njit(fastmath=FUSED)
def factorize(jacobian: Array, diagonal: float, columns: Array, pivots: Array) -> None:
    """LU factors of diagonal·I − J for a whole Jacobian J, by columns; diagonals are inverted.

    Factors, not the inverse: for long steps this matrix is singular up to rounding, since
    full attention is not changed by a common rotation. The pivot of that direction is the
    diagonal, where rounding leaves nothing of it.
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
        inverse = 1.0 / column[i] if column[i] != 0.0 else 1.0 / diagonal
        column[i] = inverse
        for r in range(i + 1, size):
            column[r] *= inverse
        for c in range(i + 1, size):
            other = columns[c]
            factor = other[i]
            for r in range(i + 1, size):
                other[r] -= factor * column[r]


@njit(fastmath=FUSED)
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


@njit(allocates=True)
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
