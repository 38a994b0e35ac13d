"""Coordinates in the tangent space of the sphere.

At a unit vector x the Householder reflection H = I − w wᵀ/(1 + |x_p|) with w = x ± e_p takes x
to ∓e_p, so its other columns are an orthonormal basis of the tangent space. It is applied as
it stands, in d operations instead of d².

The axis p is that of x's largest coordinate. At late times x lies in the leading eigenspace L
of V, which is spanned by axes of the frame, and so does w then: directions in L, in which
tokens hardly move, are not mixed with those in which they are held, not even by rounding.
With any fixed axis they would be, and runs would fail after t ~ 1e17.

Coordinates are numbered like the axes from 1 on, with axis 0 in the place of p, so that loops
run along memory.
"""

from __future__ import annotations

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit


@njit()
def axis(x: Array) -> int:
    """Where the largest coordinate of x is."""
    best = 0
    for c in range(1, x.size):
        if abs(x[c]) > abs(x[best]):
            best = c
    return best


@njit(fastmath=SUMS)
def to_tangent(x: Array, p: int, v: Array, z: Array) -> None:
    """Set z (d-1,) to the tangent coordinates of v (d,) at x, whose axis is p."""
    d = x.size
    total = v[p] if x[p] >= 0 else -v[p]
    for c in range(d):
        total += x[c] * v[c]
    total /= 1.0 + abs(x[p])
    for c in range(1, d):
        z[c - 1] = v[c] - x[c] * total
    if p > 0:
        z[p - 1] = v[0] - x[0] * total


@njit(fastmath=SUMS)
def from_tangent(x: Array, p: int, z: Array, v: Array) -> None:
    """Set v (d,) to the tangent vector with coordinates z (d-1,) at x, whose axis is p."""
    d = x.size
    for c in range(1, d):
        v[c] = z[c - 1]
    if p > 0:
        v[0] = z[p - 1]
    v[p] = 0.0
    total = 0.0
    for c in range(d):
        total += x[c] * v[c]
    total /= 1.0 + abs(x[p])
    for c in range(d):
        v[c] -= x[c] * total
    v[p] -= total if x[p] >= 0 else -total


@njit(fastmath=SUMS)
def matrix_to_tangent(x: Array, p: int, matrix: Array, w: Array, left: Array, out: Array) -> None:
    """Set out (d-1, d-1) to a matrix (d, d) in tangent coordinates; the matrix is overwritten."""
    d = x.size
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
    for r in range(1, d):
        row = 0 if r == p else r
        factor = scale * w[row]
        for c in range(1, d):
            out[r - 1, c - 1] = matrix[row, c] - factor * left[c]
        if p > 0:
            out[r - 1, p - 1] = matrix[row, 0] - factor * left[0]
