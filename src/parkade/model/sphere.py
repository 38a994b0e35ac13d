"""Unit vectors: sampling, distance, projection, and angles on the circle."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from parkade.base.check import (
    array,
    dimension,
    fits_in_memory,
    generator,
    positive_int,
    strength,
    tokens,
)
from parkade.base.errors import InputError
from parkade.base.types import Array, Seed

__all__ = [
    "angles",
    "distance",
    "from_angles",
    "mixture",
    "normalize",
    "project",
    "uniform",
    "von_mises_fisher",
]


def uniform(n: int, d: int, seed: Seed = None) -> Array:
    """Sample `n` independent, uniformly distributed points of the sphere S^{d-1}.

    Parameters
    ----------
    n, d : int
        Number of points and dimension of the space around the sphere (d ≥ 2).
    seed : int, numpy.random.Generator or None
        Source of randomness; None uses a new random seed.

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


def von_mises_fisher(
    n: int, d: int, kappa: float, mean: ArrayLike | None = None, seed: Seed = None
) -> Array:
    """Sample `n` independent points with a density proportional to exp(κ⟨mean, x⟩).

    Parameters
    ----------
    n, d : int
        Number of points and dimension of the space around the sphere (d ≥ 2).
    kappa : float
        Concentration κ ≥ 0: 0 is the uniform law, for large κ angles are of order κ^{-1/2}.
    mean : (d,) array, optional
        A unit vector; None draws one uniformly, for all points.
    seed : int, numpy.random.Generator or None

    Returns
    -------
    (n, d) array with unit rows.

    Notes
    -----
    Uses rejection from a transformed beta law (A. T. A. Wood, *Simulation of the von Mises
    Fisher distribution*, 1994), in terms of 1 − ⟨mean, x⟩, so that large κ loses no digits.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.von_mises_fisher(1000, 3, kappa=100.0, mean=[0, 0, 1], seed=1)
    >>> round(float(x[:, 2].mean()), 2)
    0.99
    """
    n, d = positive_int("n", n), dimension(d)
    concentration = strength("kappa", kappa, "reverse the mean instead")
    fits_in_memory(48.0 * n * d, f"sampling {n} tokens", "use fewer")
    rng = generator(seed)
    if mean is None:
        axis = uniform(1, d, rng)[0]
    else:
        direction = array("mean", mean)
        if direction.shape != (d,):
            raise InputError(
                f"mean must be one vector of length d={d}, got shape {direction.shape}"
            )
        axis = tokens(direction[None], name="mean")[0]
    height = _heights(n, d, concentration, rng)  # 1 − ⟨mean, x⟩
    around = normalize(rng.standard_normal((n, d - 1)))
    radius = np.sqrt(height * (2 - height))
    x = np.column_stack([1 - height, radius[:, None] * around])
    # The reflection that maps the first axis to the mean.
    mirror = -axis
    mirror[0] += 1
    square = mirror @ mirror
    if square > 0:
        x -= np.outer(x @ mirror, 2 / square * mirror)
    return normalize(x)


def _heights(n: int, d: int, kappa: float, rng: np.random.Generator) -> Array:
    """Samples of 1 − ⟨mean, x⟩ for the von Mises–Fisher law."""
    m = d - 1
    b = m / (2 * kappa + np.hypot(2 * kappa, m))
    top = 2 * b / (1 + b)
    heights = np.empty(n)
    todo = np.arange(n)
    while todo.size:
        z = rng.beta(m / 2, m / 2, todo.size)
        h = 2 * b * z / (1 - (1 - b) * z)
        ratio = (top + h - top * h) / (top * (2 - top))
        accepted = kappa * (top - h) + m * np.log(ratio) >= -rng.standard_exponential(todo.size)
        heights[todo[accepted]] = h[accepted]
        todo = todo[~accepted]
    return heights


def mixture(n: int, d: int, components: int, spread: float, seed: Seed = None) -> Array:
    """Sample `n` points of a Gaussian mixture, projected on the sphere.

    Component centres μ are uniform on the sphere. Every point chooses one of them with equal
    probability, and is the direction of μ + spread·g with g ~ N(0, I).

    Parameters
    ----------
    n, d : int
        Number of points and dimension of the space around the sphere (d ≥ 2).
    components : int
        Number of component centres.
    spread : float
        Standard deviation of every coordinate, ≥ 0.
    seed : int, numpy.random.Generator or None

    Returns
    -------
    (n, d) array with unit rows.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.mixture(100, 3, components=4, spread=0.0, seed=1)
    >>> len(set(map(tuple, x.round(12).tolist())))
    4
    """
    n, d = positive_int("n", n), dimension(d)
    components = positive_int("components", components)
    width = strength("spread", spread)
    fits_in_memory(48.0 * n * d, f"sampling {n} tokens", "use fewer")
    rng = generator(seed)
    centers = uniform(components, d, rng)
    chosen = centers[rng.integers(components, size=n)]
    return normalize(chosen + width * rng.standard_normal((n, d)))


def normalize(x: ArrayLike) -> Array:
    """Scale every row of `x` to unit length; raise if a row is zero or not finite.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.sphere.normalize([[3.0, 4.0], [0.0, 1e-200]]).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """
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

    It is accurate at all angles: 2·atan2(|x−y|, |x+y|) loses no digits near 0 or π, where
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
    """P_x y = y − ⟨x, y⟩ x, the part of `y` tangent to the sphere at `x`.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.sphere.project([1.0, 0.0], [3.0, 4.0]).tolist()
    [0.0, 4.0]
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    tangent: Array = y - np.sum(x * y, axis=-1, keepdims=True) * x
    return tangent


def from_angles(angles: ArrayLike) -> Array:
    """Points (cos φ, sin φ) of the circle.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> pk.sphere.from_angles([0.0, np.pi / 2]).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    phi = array("angles", angles)
    return np.stack([np.cos(phi), np.sin(phi)], axis=-1)


def angles(x: ArrayLike) -> Array:
    """Angles φ in (−π, π] of points on the circle: the inverse of `from_angles`.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.sphere.angles(pk.sphere.from_angles([0.5, -3.0])).round(12).tolist()
    [0.5, -3.0]
    """
    points = tokens(x, d=2) if np.ndim(x) == 2 else np.asarray(x, dtype=np.float64)
    phi: Array = np.arctan2(points[..., 1], points[..., 0])
    return phi


def __dir__() -> list[str]:
    return __all__
