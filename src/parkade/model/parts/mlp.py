"""`MLP`: a network that acts on each token separately."""

from __future__ import annotations

import math
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.model.arrays import bias, like
from parkade.model.part import Part, Surroundings

ACTIVATIONS = ("relu", "gelu", "silu")
"""ReLU, x Φ(x) with the normal distribution Φ, and x/(1 + e^{−x})."""


class MLP(Part, kind="mlp"):
    """A network with one hidden layer: G(x) = W2 σ(W1 x + b1) + b2.

    Parameters
    ----------
    W1 : (p, d) array
    W2 : (d, p) array
    b1, b2 : (p,) and (d,) arrays, optional
        Zero by default.
    activation : "relu", "gelu" or "silu"

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> mlp = pk.MLP(np.eye(2), -np.eye(2))
    >>> mlp.label, mlp.rate
    ('MLP of width 2', 1.0)
    >>> pk.Transformer([pk.Head(d=2)], mlp=mlp).velocity(np.eye(2)).round(3).tolist()
    [[0.0, 0.0], [0.269, 0.0]]
    """

    def __init__(
        self,
        W1: ArrayLike,
        W2: ArrayLike,
        b1: ArrayLike | None = None,
        b2: ArrayLike | None = None,
        activation: str = "relu",
    ) -> None:
        self.W1, self.W2 = check.array("W1", W1), check.array("W2", W2)
        if self.W1.ndim != 2 or self.W1.size == 0:
            raise InputError(f"W1 must be a (p, d) matrix, got shape {self.W1.shape}")
        p, self.d = self.W1.shape
        if self.W2.shape != (self.d, p):
            raise InputError(
                f"W2 must be a {self.d}×{p} matrix, since W1 is {p}×{self.d}, got shape "
                f"{self.W2.shape}"
            )
        self.b1 = bias("b1", b1, p)
        self.b2 = bias("b2", b2, self.d)
        self.activation = check.choice("activation", activation, ACTIVATIONS)
        for array in (self.W1, self.W2, self.b1, self.b2):
            if np.abs(array).max(initial=0.0) > check.LARGEST:
                raise InputError(f"entries of an MLP must be at most {check.LARGEST:g} in size")
            array.flags.writeable = False

    @classmethod
    def random(
        cls, d: int, width: int | None = None, seed: Any = None, activation: str = "relu"
    ) -> MLP:
        """A network with Gaussian weights, so that |G(x)| is about 1; its width is 4d by default.

        Examples
        --------
        >>> import parkade as pk
        >>> pk.MLP.random(3, seed=1).W1.shape
        (12, 3)
        """
        rng = check.generator(seed)
        d = check.dimension(d)
        p = 4 * d if width is None else check.positive_int("width", width)
        return cls(
            rng.standard_normal((p, d)) * math.sqrt(2.0),
            rng.standard_normal((d, p)) / math.sqrt(d * p),
            activation=activation,
        )

    def __repr__(self) -> str:
        p, d = self.W1.shape
        return f"MLP(<{p}×{d}>, <{d}×{p}>, activation={self.activation!r})"

    @property
    def label(self) -> str:
        """A short description: the width."""
        return f"MLP of width {len(self.W1)}"

    @cached_property
    def rate(self) -> float:  # type: ignore[override]
        """‖W2‖‖W1‖, with spectral norms."""
        return float(np.linalg.norm(self.W2, 2) * np.linalg.norm(self.W1, 2))

    def force(self, tokens: Any, around: Surroundings) -> Any:
        """G(x) for each token, (..., n, d)."""
        hidden = tokens @ like(self.W1.T, tokens) + like(self.b1, tokens)
        return activate(self.activation, hidden) @ like(self.W2.T, tokens) + like(self.b2, tokens)

    def data(self) -> dict[str, Any]:
        """Weights, biases and the activation."""
        names = ("W1", "W2", "b1", "b2", "activation")
        return {name: getattr(self, name) for name in names}


def activate(name: str, x: Any) -> Any:
    """σ(x) for each entry, for one of `ACTIVATIONS`."""
    from array_api_compat import array_namespace

    xp = array_namespace(x)
    if name == "relu":
        return xp.where(x > 0, x, 0 * x)
    if name == "silu":
        return x * (1 + xp.tanh(x / 2)) / 2  # does not overflow
    return x * _normal(x)


def _normal(z: Any) -> Any:
    """The normal distribution function. The array API standard has none, so libraries differ."""
    from array_api_compat import is_jax_array, is_torch_array

    for is_theirs, home in ((is_torch_array, "torch.special"), (is_jax_array, "jax.scipy.special")):
        if is_theirs(z):
            return import_module(home).ndtr(z)
    return like(import_module("scipy.special").ndtr(np.asarray(z)), z)
