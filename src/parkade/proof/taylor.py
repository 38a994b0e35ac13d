"""Taylor polynomials of tokens on the circle, in float64: where the proof of a gathering begins.

Nothing is proved here. The checker bounds how far these polynomials are from the tokens.
"""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array


def polynomials(angles: Array, beta: float, degree: int) -> Array:
    """Taylor coefficients (degree + 1, n) of the angles of causal tokens, Q = K = V = I."""
    n = len(angles)
    phi = np.zeros((degree + 1, n))
    phi[0] = angles
    row, column = np.tril_indices(n, -1)
    x, sine, cosine, weight, pull = np.zeros((5, degree + 1, len(row)))
    total, force = np.zeros((2, degree + 1, n))
    velocity = np.zeros((degree + 1, n))
    for i in range(degree):
        x[i] = phi[i, column] - phi[i, row]
        if i == 0:
            sine[0], cosine[0] = np.sin(x[0]), np.cos(x[0])
            weight[0] = np.exp(beta * (cosine[0] - 1))
        else:
            scaled = x[1 : i + 1] * np.arange(1, i + 1)[:, None] / i
            sine[i] = np.einsum("jp,jp->p", scaled, cosine[i - 1 :: -1][:i])
            cosine[i] = -np.einsum("jp,jp->p", scaled, sine[i - 1 :: -1][:i])
            bent = cosine[1 : i + 1] * np.arange(1, i + 1)[:, None] * (beta / i)
            weight[i] = np.einsum("jp,jp->p", bent, weight[i - 1 :: -1][:i])
        pull[i] = np.einsum("jp,jp->p", weight[: i + 1], sine[i::-1][: i + 1])
        total[i] = np.bincount(row, weight[i], n) + (i == 0)
        force[i] = np.bincount(row, pull[i], n)
        below = np.einsum("jk,jk->k", total[1 : i + 1], velocity[i - 1 :: -1][:i]) if i else 0.0
        velocity[i] = (force[i] - below) / total[0]
        phi[i + 1] = velocity[i] / (i + 1)
    return phi
