"""Energies of tokens among those before them."""

from __future__ import annotations

import math

from parkade.base.types import Array
from parkade.engine.compile.jit import njit


@njit()
def _near(beta: float, x: Array, y: Array) -> float:
    """e^{β(⟨x,y⟩−1)} of unit vectors: |x−y|² is 2 − 2⟨x,y⟩ without any cancellation."""
    square = 0.0
    for c in range(x.size):
        square += (x[c] - y[c]) ** 2
    return math.exp(-0.5 * beta * square)


@njit()
def energies(beta: float, x: Array, frozen: Array, weights: Array, out: Array) -> None:
    """Set out (systems, n) to E_k of the tokens x (systems, n, d); see `parkade.theory`."""
    for s in range(x.shape[0]):
        for k in range(x.shape[1]):
            total = 0.0
            for j in range(k):
                total += _near(beta, x[s, k], x[s, j])
            for j in range(frozen.shape[0]):
                total += weights[j] * _near(beta, x[s, k], frozen[j])
            out[s, k] = 0.0 - total / beta  # no −0.0
