"""Kurtosis of a cloud along a line or in a plane, and of random lines and planes beside it.

A direction along which few words stand out has a large kurtosis, whatever these words are: nothing
has to be chosen or judged. It is Mardia's (Biometrika 57, 1970), scaled so that a normal law has 3
in each dimension: E[(sᵀΣ⁻¹s)²] · 3/(p(p+2)) for coordinates s with covariance Σ in p dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.trained.block import Floats

_TILE = 2**23  # numbers at a time


def kurtosis(points: NDArray[Any]) -> Array:
    """The kurtosis of clouds of w points in p = 1 or 2 dimensions, (..., p, w) → (...).

    A cloud in a plane that lies on a line has no kurtosis; it counts as 0.
    """
    s = points - points.mean(axis=-1, keepdims=True)
    w, p = s.shape[-1], s.shape[-2]
    if p == 1:
        square = np.square(s[..., 0, :])
        mean = square.mean(axis=-1)
        fourth = np.einsum("...w,...w->...", square, square) / w
        line: Array = np.divide(fourth, mean**2, out=np.zeros_like(fourth), where=mean > 0)
        return line
    a, b = s[..., 0, :], s[..., 1, :]
    aa, bb, ab = (np.einsum("...w,...w->...", x, y) / w for x, y in ((a, a), (b, b), (a, b)))
    area = aa * bb - ab**2
    flat = area <= 1e-12 * aa * bb
    area = np.where(flat, 1.0, area)[..., None]
    q = (bb[..., None] * a * a - 2 * ab[..., None] * a * b + aa[..., None] * b * b) / area
    result: Array = np.where(flat, 0.0, 3 / 8 * np.einsum("...w,...w->...", q, q) / w)
    return result


def along(rows: Floats, directions: NDArray[Any]) -> Array:
    """The kurtosis of a cloud (w, d) along lines or in planes with bases (k, p, d), → (k,)."""
    k, p, d = directions.shape
    result = np.empty(k)
    step = max(1, _TILE // (p * len(rows)))
    lines = directions.astype(rows.dtype)
    for start in range(0, k, step):
        part = lines[start : start + step].reshape(-1, d)
        result[start : start + step] = kurtosis((part @ rows.T).reshape(-1, p, len(rows)))
    return result


def isotropic(rows: Floats) -> Callable[[np.random.Generator, int], Array]:
    """Directions (k, d) without any preference: a null for axes."""
    return lambda rng, k: rng.standard_normal((k, rows.shape[1]))


def covariant(rows: Floats) -> Callable[[np.random.Generator, int], Array]:
    """Directions (k, d) with the covariance of a cloud: a null for axes."""
    values, vectors = np.linalg.eigh(np.cov(rows.T, dtype=np.float64))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return lambda rng, k: rng.standard_normal((k, len(root))) @ root


def drawn(
    rows: Floats,
    draw: Callable[[np.random.Generator, int], Array],
    p: int,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """The kurtosis of a cloud in random lines (p = 1) or planes (p = 2), sorted."""
    parts, step = [], 1024
    for start in range(0, count, step):
        k = min(step, count - start)
        bases = draw(rng, k * p).reshape(k, p, -1)
        # As spectra are of unit length, so are these: sizes do not count, but float32 overflows.
        bases /= np.linalg.norm(bases, axis=2, keepdims=True)
        parts.append(along(rows, bases))
    return np.sort(np.concatenate(parts))


def beyond(null: Array, observed: Array) -> Array:
    """One-sided Monte-Carlo p-values, (1 + #{null ≥ observed})/(1 + draws); `null` is sorted."""
    above = len(null) - np.searchsorted(null, observed, side="left")
    result: Array = (1 + above) / (1 + len(null))
    return result
