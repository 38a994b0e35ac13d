"""Singular values of small matrices, which LAPACK finds for native code.

Pairs of columns are rotated until all are orthogonal: G. H. Golub, C. F. Van Loan, Matrix
Computations (2013), section 8.6.3.
"""

from __future__ import annotations

import math

from numerics.matrices import rotate_columns, set_identity

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

_SWEEPS = 60


@njit()
def orthogonalize(a: Array, v: Array) -> None:
    """Rotate the columns of `a` until they are orthogonal; `v` becomes the product of rotations.

    The old `a` is the new one times vᵀ, and the lengths of its columns are the singular values.
    """
    rows, n = a.shape
    set_identity(v)
    for _ in range(_SWEEPS):
        done = True
        for p in range(n):
            for q in range(p + 1, n):
                alpha, beta, gamma = 0.0, 0.0, 0.0
                for i in range(rows):
                    alpha += a[i, p] * a[i, p]
                    beta += a[i, q] * a[i, q]
                    gamma += a[i, p] * a[i, q]
                if abs(gamma) <= 1e-17 * math.sqrt(alpha) * math.sqrt(beta):
                    continue
                done = False
                zeta = (beta - alpha) / (2.0 * gamma)
                t = 1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = c * t
                rotate_columns(a, p, q, c, s)
                rotate_columns(v, p, q, c, s)
        if done:
            return


@njit()
def length_of_column(a: Array, j: int) -> float:
    """The length of column j."""
    square = 0.0
    for i in range(a.shape[0]):
        square += a[i, j] * a[i, j]
    return math.sqrt(square)


@njit()
def largest_value(a: Array, v: Array) -> float:
    """The largest singular value of `a`, which is overwritten; `v` is a workspace."""
    orthogonalize(a, v)
    largest = 0.0
    for j in range(a.shape[1]):
        largest = max(largest, length_of_column(a, j))
    return largest
