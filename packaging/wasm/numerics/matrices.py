"""Elementary operations on small matrices, in compiled code."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.vectors import frobenius


@njit()
def largest(A: Array) -> float:
    """The largest absolute value of an entry."""
    result = 0.0
    for r in range(A.shape[0]):
        for c in range(A.shape[1]):
            result = max(result, abs(A[r, c]))
    return result


@njit()
def is_zero(A: Array) -> bool:
    """Whether all entries are 0."""
    return largest(A) == 0.0


@njit()
def multiply(A: Array, B: Array, out: Array) -> None:
    """Set `out` to the product A B."""
    for r in range(A.shape[0]):
        for c in range(B.shape[1]):
            total = 0.0
            for i in range(A.shape[1]):
                total += A[r, i] * B[i, c]
            out[r, c] = total


@njit(allocates=True)
def inside(A: Array, W: Array, out: Array) -> None:
    """Set out = Wᵀ A W."""
    d = A.shape[0]
    half = np.empty((d, d))
    multiply(A, W, half)
    multiply(W.T, half, out)


@njit()
def set_identity(out: Array) -> None:
    """Set `out` to the identity matrix."""
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = 1.0 if r == c else 0.0


@njit(allocates=True)
def commute(X: Array, Y: Array) -> bool:
    """Whether two matrices commute, up to rounding."""
    d = X.shape[0]
    one, other = np.empty((d, d)), np.empty((d, d))
    multiply(X, Y, one)
    multiply(Y, X, other)
    for r in range(d):
        for c in range(d):
            one[r, c] -= other[r, c]
    return frobenius(one) <= 1e-12 * (frobenius(X) * frobenius(Y))


@njit()
def rotate_columns(A: Array, p: int, q: int, cosine: float, sine: float) -> None:
    """Rotate columns p and q in the plane that they span."""
    for i in range(A.shape[0]):
        left, right = A[i, p], A[i, q]
        A[i, p], A[i, q] = cosine * left - sine * right, cosine * right + sine * left
