"""Sequential energies: for each token, a function of the tokens up to it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array


def sequential_energies(
    tokens: ArrayLike,
    beta: float,
    *,
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
) -> Array:
    """E_k = −(1/β) Σ_{j<k} e^{β(⟨x_k,x_j⟩−1)}, the energy of each token given the earlier ones.

    Causal attention with Q = K = V = I is not a gradient flow, but a sequential one: token k
    moves by dx_k/dt = −(1/Z_k) grad_k E_k, Z_k = Σ_{j≤k} e^{β(⟨x_k,x_j⟩−1)}, with the gradient
    on the sphere (Karagodin, Polyanskiy, Rigollet 2024, Lemma 5.3, stated for the circle). So
    E_k never increases while the earlier tokens are at rest. When they move, it may increase.

    Parameters
    ----------
    tokens : (..., n, d) array
        Unit vectors, in sequence order; leading axes are independent systems or times.
    beta : float
        Inverse temperature β > 0.
    frozen, frozen_weights : (m, d) and (m,) arrays, optional
        Fixed tokens that all tokens attend to, and their weights (1 by default). They add
        −(1/β) Σ_j a_j e^{β(⟨x_k,θ_j⟩−1)} to every energy, and the sum to Z_k.

    Returns
    -------
    (..., n) array; zero for the first token if there are no frozen ones.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.sequential_energies(pk.sphere.from_angles([0.0, 0.0, 3.0]), 2.0).round(4).tolist()
    [0.0, -0.5, -0.0187]
    """
    from parkade.engine.sums import energy

    x = check.array("tokens", tokens)
    shape = x.shape
    if x.ndim > 2:
        x = check.tokens(x.reshape(math.prod(shape[:-1]), shape[-1])).reshape(-1, *shape[-2:])
    else:
        x = check.tokens(x)[None]
    beta = check.positive("beta", beta)
    if frozen is not None:
        fixed = check.tokens(frozen, x.shape[-1], "frozen")
    elif frozen_weights is not None:
        raise InputError("got frozen_weights without frozen tokens; pass frozen as well")
    else:
        fixed = np.empty((0, x.shape[-1]))
    result = np.empty(x.shape[:-1])
    energy.energies(beta, x, fixed, _weights(frozen_weights, len(fixed)), result)
    return result.reshape(shape[:-1])


def _weights(value: ArrayLike | None, m: int) -> Array:
    """`value` as the weights of m frozen tokens; all 1 by default."""
    if value is None:
        return np.ones(m)
    a = check.array("frozen_weights", value)
    if a.shape != (m,) or (a <= 0).any():
        raise InputError(
            f"frozen_weights must be {m} numbers > 0, one for each frozen token, got shape "
            f"{a.shape} and smallest {a.min(initial=np.inf):g}"
        )
    return a
