"""Eigenvalues and eigenvectors of small symmetric matrices, and norms, by Jacobi's rotations."""

from __future__ import annotations

import math

import numpy as np
from numerics.matrices import rotate_columns, set_identity

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

_SWEEPS = 30


@njit(error_model="numpy")
def diagonalize(A: Array, W: Array) -> None:
    """Diagonalise the symmetric A in place, eigenvalues increasing; set W to the eigenvectors."""
    d = A.shape[0]
    set_identity(W)
    for _ in range(_SWEEPS):
        turned = False
        for p in range(d):
            for q in range(p + 1, d):
                small = abs(A[p, q])
                if abs(A[p, p]) + small != abs(A[p, p]) or abs(A[q, q]) + small != abs(A[q, q]):
                    _rotate(A, W, p, q)
                    turned = True
                else:
                    A[p, q] = A[q, p] = 0.0
        if not turned:
            break
    for i in range(d):  # sort, the smallest first
        least = i
        for j in range(i + 1, d):
            if A[j, j] < A[least, least]:
                least = j
        A[i, i], A[least, least] = A[least, least], A[i, i]
        for r in range(d):
            W[r, i], W[r, least] = W[r, least], W[r, i]


@njit(error_model="numpy")
def _rotate(A: Array, W: Array, p: int, q: int) -> None:
    """Rotate rows and columns p and q so that A[p, q] becomes zero."""
    apart = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
    t = math.copysign(1.0, apart) / (abs(apart) + math.hypot(1.0, apart))
    cosine = 1.0 / math.hypot(1.0, t)
    sine = t * cosine
    moved = t * A[p, q]
    A[p, p] -= moved
    A[q, q] += moved
    A[p, q] = A[q, p] = 0.0
    for r in range(A.shape[0]):
        if r not in (p, q):
            left, right = A[r, p], A[r, q]
            A[r, p] = A[p, r] = cosine * left - sine * right
            A[r, q] = A[q, r] = cosine * right + sine * left
    rotate_columns(W, p, q, cosine, sine)


@njit(allocates=True)
def spectral_norm(A: Array) -> float:
    """The largest singular value."""
    d = A.shape[0]
    square, vectors = np.zeros((d, d)), np.empty((d, d))
    for r in range(d):
        for c in range(d):
            for i in range(d):
                square[r, c] += A[i, r] * A[i, c]
    diagonalize(square, vectors)
    return math.sqrt(max(0.0, square[d - 1, d - 1]))
