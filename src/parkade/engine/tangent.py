"""Coordinates in the tangent space of the sphere.

At a unit vector x the Householder reflection H = I − w wᵀ/(1 + |x_p|) with w = x ± e_p takes x
to ∓e_p, so its other columns are an orthonormal basis of the tangent space. It is applied as
it stands, in d operations instead of d².

The axis p is that of x's largest coordinate. At late times x lies in the leading eigenspace L
of V, which is spanned by axes of the frame, and so does w then: directions in L, in which
tokens hardly move, are not mixed with those in which they are held, not even by rounding.
With any fixed axis they would be, and runs would fail after t ~ 1e17.
"""

from __future__ import annotations

from numba import njit

from parkade.types import Array

FUSED = {"contract"}  # let the compiler fuse multiplications and additions
SUMS = {"reassoc", "contract", "nsz"}  # and split a sum over vector lanes


@njit(cache=True, nogil=True)
def axis(x: Array) -> int:
    """Where the largest coordinate of x is."""
    best = 0
    for c in range(1, x.size):
        if abs(x[c]) > abs(x[best]):
            best = c
    return best


@njit(cache=True, nogil=True, fastmath=SUMS)
def to_tangent(x: Array, v: Array, z: Array) -> None:
    """Set z (d-1,) to the tangent coordinates of v (d,)."""
    d = x.size
    p = axis(x)
    total = v[p] if x[p] >= 0 else -v[p]
    for c in range(d):
        total += x[c] * v[c]
    total /= 1.0 + abs(x[p])
    for c in range(p):
        z[c] = v[c] - x[c] * total
    for c in range(p + 1, d):
        z[c - 1] = v[c] - x[c] * total


@njit(cache=True, nogil=True, fastmath=SUMS)
def from_tangent(x: Array, z: Array, v: Array) -> None:
    """Set v (d,) to the tangent vector with coordinates z (d-1,)."""
    d = x.size
    p = axis(x)
    total = 0.0
    for c in range(p):
        total += x[c] * z[c]
    for c in range(p + 1, d):
        total += x[c] * z[c - 1]
    total /= 1.0 + abs(x[p])
    for c in range(p):
        v[c] = z[c] - x[c] * total
    v[p] = -(x[p] + (1.0 if x[p] >= 0 else -1.0)) * total
    for c in range(p + 1, d):
        v[c] = z[c - 1] - x[c] * total


@njit(cache=True, nogil=True, fastmath=SUMS)
def matrix_to_tangent(x: Array, matrix: Array, w: Array, left: Array, out: Array) -> None:
    """Set out (d-1, d-1) to a matrix (d, d), which is spoiled, in tangent coordinates."""
    d = x.size
    p = axis(x)
    scale = 1.0 / (1.0 + abs(x[p]))
    for c in range(d):
        w[c] = x[c]
        left[c] = 0.0
    w[p] += 1.0 if x[p] >= 0 else -1.0
    for r in range(d):  # matrix ← matrix H;  left ← wᵀ matrix
        total = 0.0
        for c in range(d):
            total += matrix[r, c] * w[c]
        total *= scale
        for c in range(d):
            matrix[r, c] -= total * w[c]
            left[c] += w[r] * matrix[r, c]
    for r in range(d - 1):
        row = r if r < p else r + 1
        factor = scale * w[row]
        for c in range(p):
            out[r, c] = matrix[row, c] - factor * left[c]
        for c in range(p + 1, d):
            out[r, c - 1] = matrix[row, c] - factor * left[c]
