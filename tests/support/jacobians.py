"""Tangent bases, inverted blocks, differences and linear systems, for tests of the Jacobian."""

from __future__ import annotations

import numpy as np

from parkade.engine.compile import simd
from parkade.engine.jacobian import small_matrices, tangent
from support.steps import right_sides, solutions


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


def chart_field(model, x, frozen=None, weights=None):
    """dv/dt in the gnomonic chart at x, as a function of tangent coordinates z."""
    n, d = x.shape
    basis = tangent_bases(x)

    def field(z):
        v = np.einsum("kci,ki->kc", basis, z.reshape(n, d - 1))
        r = np.sqrt(1 + np.sum(v * v, axis=1, keepdims=True))
        y = (x + v) / r
        f = model.velocity(y, frozen, weights)
        f = r * (f - r * np.sum(x * f, axis=1, keepdims=True) * y)
        return np.einsum("kci,kc->ki", basis, f).ravel()

    return field


def finite_differences(field, size):
    """The Jacobian at zero; the error is about h^4 plus rounding over h, so 1e-10."""
    units = np.eye(size)
    return np.array([fourth_order(lambda s, e=e: field(s * e), 1e-5) for e in units]).T


def assert_solves(work, field, jacobian, x, shift):
    """Every stage of an implicit step solves its system (shift − J) u = right.

    That tests weights, blocks, their inverses and substitution at once: there are enough right-hand
    sides and shifts for every part of J to matter.
    """
    n, d = x.shape
    result = np.einsum("kci,skc->ski", tangent_bases(x), solutions(work)).reshape(6, -1)
    rights = right_sides(lambda z, _: field(z), result, shift)
    for u, right in zip(result, rights, strict=True):
        expected = np.linalg.solve(shift * np.eye(n * (d - 1)) - jacobian, right)
        np.testing.assert_allclose(u, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
