"""Simplices: tokens of which each two have the same overlap ρ = ⟨x_i, x_j⟩."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claims.common.ends import orthonormal


def simplex(
    n: int, rho: float, rng: np.random.Generator | None = None, d: int | None = None
) -> Array:
    """Some n tokens in d ≥ n dimensions (n by default) with overlap −1/(n−1) ≤ ρ < 1.

    They are the rows of the root of the matrix of all overlaps, (1−ρ) I + ρ 11ᵀ, turned at random
    if there is a generator.
    """
    across = np.sqrt(1 - rho)
    along = np.sqrt(max(1 + (n - 1) * rho, 0.0))
    tokens: Array = np.zeros((n, n if d is None else d))
    tokens[:, :n] = across * np.eye(n) + (along - across) / n
    return tokens if rng is None else tokens @ orthonormal(tokens.shape[1], rng)


def overlap(tokens: Array) -> Array:
    """The mean overlap of two tokens, and how far one is from it at most, (..., 2)."""
    n = tokens.shape[-2]
    pairs = np.triu_indices(n, 1)
    all_pairs = (tokens @ np.swapaxes(tokens, -1, -2))[..., pairs[0], pairs[1]]
    mean = all_pairs.mean(axis=-1)
    return np.stack([mean, np.abs(all_pairs - mean[..., None]).max(axis=-1)], axis=-1)
