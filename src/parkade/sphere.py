"""Unit vectors: sampling, distance, projection, and angles on the circle."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from parkade.check import dimension, fits_in_memory, generator, positive_int, tokens
from parkade.errors import InputError
from parkade.types import Array, Seed


def uniform(n: int, d: int, seed: Seed = None) -> Array:
    """Sample `n` independent, uniformly distributed points of the sphere S^{d-1}.

    Parameters
    ----------
    n, d : int
        Number of points and dimension of the space around the sphere (d ≥ 2).
    seed : int, numpy.random.Generator or None
        Source of randomness; None draws a fresh one.

    Returns
    -------
    (n, d) array with unit rows.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.sphere.uniform(3, 2, seed=1).shape
    (3, 2)
    """
    n, d = positive_int("n", n), dimension(d)
    fits_in_memory(32.0 * n * d, f"sampling {n} tokens", "use fewer")
    return normalize(generator(seed).standard_normal((n, d)))


def normalize(x: ArrayLike) -> Array:
    """Scale every row of `x` to unit length; a zero or non-finite row is an error."""
    rows = np.asarray(x, dtype=np.float64)
    # Divide by the largest entry first, so that no square over- or underflows.
    scale = np.max(np.abs(rows), axis=-1, keepdims=True)
    bad = ~(np.isfinite(scale) & (scale > 0))
    if bad.any():
        row = np.argwhere(bad)[0][:-1]
        raise InputError(
            f"row {', '.join(map(str, row))} of the points is zero or not finite, "
            "so it has no direction; remove it"
        )
    rows = rows / scale
    unit: Array = rows / np.sqrt(np.sum(rows * rows, axis=-1, keepdims=True))
    return unit


def distance(x: ArrayLike, y: ArrayLike) -> Array:
    """Geodesic distance (angle) between unit vectors, row by row, with broadcasting.

    Accurate at all angles: 2·atan2(|x−y|, |x+y|) loses nothing near 0 or π, where
    arccos⟨x,y⟩ has an error of 1e-8.

    Examples
    --------
    >>> import parkade as pk
    >>> float(pk.sphere.distance([1.0, 0.0], [-1.0, 1e-12])) < 3.2
    True
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    angle: Array = 2 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1))
    return angle


def project(x: ArrayLike, y: ArrayLike) -> Array:
    """P_x y = y − ⟨x, y⟩ x, the part of `y` tangent to the sphere at `x`."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    tangent: Array = y - np.sum(x * y, axis=-1, keepdims=True) * x
    return tangent


def from_angles(angles: ArrayLike) -> Array:
    """Points (cos φ, sin φ) of the circle."""
    phi = np.asarray(angles, dtype=np.float64)
    return np.stack([np.cos(phi), np.sin(phi)], axis=-1)


def angles(x: ArrayLike) -> Array:
    """Angles φ in (−π, π] of points on the circle: the inverse of `from_angles`."""
    points = tokens(x, d=2) if np.ndim(x) == 2 else np.asarray(x, dtype=np.float64)
    phi: Array = np.arctan2(points[..., 1], points[..., 0])
    return phi
