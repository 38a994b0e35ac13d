"""Taylor polynomials of tokens on a sphere, in float64: where the proof of a gathering begins.

Nothing is proved here. The checker bounds how far these polynomials are from the tokens.
"""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array


def polynomials(tokens: Array, beta: float, degree: int) -> Array:
    """Taylor coefficients (degree + 1, n, d) of causal tokens, Q = K = V = I."""
    n, d = tokens.shape
    x = np.zeros((degree + 1, n, d))
    x[0] = tokens
    row, column = np.tril_indices(n, -1)
    cosine, weight, share = np.zeros((3, degree + 1, len(row)))
    total, short = np.zeros((2, degree + 1, n))
    pull, velocity = np.zeros((2, degree + 1, n, d))
    for i in range(degree):
        cosine[i] = np.einsum("jpa,jpa->p", x[: i + 1, row], x[i::-1, column][: i + 1])
        if i == 0:
            weight[0] = np.exp(beta * (cosine[0] - 1))
        else:
            bent = cosine[1 : i + 1] * np.arange(1, i + 1)[:, None] * (beta / i)
            weight[i] = _product(bent, weight[:i])
        share[i] = _product(weight[: i + 1], cosine[: i + 1])
        pulls = np.einsum("jp,jpa->pa", weight[: i + 1], x[i::-1, column][: i + 1])
        total[i] = np.bincount(row, weight[i], n) + (i == 0)
        short[i] = np.bincount(row, share[i], n)
        np.add.at(pull[i], row, pulls)
        force = pull[i] - np.einsum("jk,jka->ka", short[: i + 1], x[i::-1][: i + 1])
        if i:
            force -= np.einsum("jk,jka->ka", total[1 : i + 1], velocity[i - 1 :: -1][:i])
        velocity[i] = force / total[0][:, None]
        x[i + 1] = velocity[i] / (i + 1)
    return x


def _product(one: Array, other: Array) -> Array:
    """The last coefficient of the product of two series."""
    last: Array = np.einsum("jp,jp->p", one, other[::-1])
    return last
