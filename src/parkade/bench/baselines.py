"""The usual NumPy code, for Q = K = V = I and the causal mask."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array


def velocity(x: Array, beta: float) -> Array:
    """Velocity of the tokens `x` (..., n, d); leading axes are independent systems."""
    weights = np.tril(np.exp(beta * (x @ x.swapaxes(-1, -2) - 1)))  # (..., n, n)
    pull = (weights @ x) / weights.sum(axis=-1, keepdims=True)
    tangent: Array = pull - (x * pull).sum(axis=-1, keepdims=True) * x
    return tangent


def euler(x: Array, beta: float, t_end: float, step: float = 0.05) -> Array:
    """The tokens at `t_end`: Euler steps, each followed by a normalisation."""
    for _ in range(round(t_end / step)):
        x = x + step * velocity(x, beta)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return x
