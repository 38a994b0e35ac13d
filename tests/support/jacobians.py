"""Tangent bases, inverted blocks and differences, for tests of the Jacobian."""

from __future__ import annotations

import numpy as np

from parkade.engine.compile import simd
from parkade.engine.jacobian import small_matrices, tangent


def tangent_bases(x):
    """Orthonormal bases (n, d, d-1) of the tangent spaces at unit vectors."""
    basis = np.empty((*x.shape, x.shape[1] - 1))
    for k, i in np.ndindex(len(x), x.shape[1] - 1):
        tangent.from_tangent(x[k], tangent.axis(x[k]), np.eye(x.shape[1] - 1)[i], basis[k, :, i])
    return basis


def inverse_columns(blocks, shift):
    """What `small_matrices.invert` gives, in an array as wide as it needs."""
    count, size, _ = blocks.shape
    out = np.empty((count, size, -(-size // simd.WIDTH) * simd.WIDTH))
    small_matrices.invert(blocks, shift, out)
    return out


def fourth_order(function, h):
    """The derivative at zero by differences of fourth order."""
    return (8 * (function(h) - function(-h)) - function(2 * h) + function(-2 * h)) / (12 * h)
