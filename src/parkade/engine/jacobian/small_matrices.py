"""Small dense matrices: the blocks of the causal Jacobian, one for each token."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, njit
from parkade.engine.compile.simd import add_multiple


@njit(allocates=True, fastmath=FUSED, apart=True)
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


@njit(fastmath=FUSED)
def apply(columns: Array, z: Array, out: Array) -> None:
    """Set out = Σ_i z_i columns_i; `out` is as wide as the padded columns."""
    size, width = columns.shape
    for r in range(width):
        out[r] = 0.0
    for i in range(size):
        column, factor = columns[i], z[i]
        for r in range(width):
            out[r] += factor * column[r]


@njit()
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


@njit(allocates=True)
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
