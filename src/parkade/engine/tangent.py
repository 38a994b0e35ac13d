"""Coordinates in the tangent space of the sphere.

At a unit vector x the Householder reflection H = I − w wᵀ/(1 + |x_0|) with w = x ± e_0 takes x
to ∓e_0, so its other columns are an orthonormal basis of the tangent space. It is applied as
it stands, in d operations instead of d².
"""

from __future__ import annotations

from numba import njit

from parkade.types import Array

FUSED = {"contract"}  # let the compiler fuse multiplications and additions
SUMS = {"reassoc", "contract", "nsz"}  # and split a sum over vector lanes


@njit(cache=True, nogil=True, fastmath=SUMS)
def to_tangent(x: Array, v: Array, z: Array) -> None:
    """Set z (d-1,) to the tangent coordinates of v (d,)."""
    d = x.size
    total = (x[0] + (1.0 if x[0] >= 0 else -1.0)) * v[0]
    for c in range(1, d):
        total += x[c] * v[c]
    total /= 1.0 + abs(x[0])
    for c in range(1, d):
        z[c - 1] = v[c] - x[c] * total


@njit(cache=True, nogil=True, fastmath=SUMS)
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


@njit(cache=True, nogil=True, fastmath=SUMS)
def matrix_to_tangent(x: Array, matrix: Array, w: Array, left: Array, out: Array) -> None:
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
