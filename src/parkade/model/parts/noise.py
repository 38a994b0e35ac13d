"""`Noise`: Brownian motion of tokens on the sphere, besides the forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.model.matrices import number
from parkade.model.model import Storable


@dataclass(frozen=True)
class Noise(Storable, kind="noise"):
    """Brownian motion on the sphere: dθ_k = velocity dt + √(2/κ) P_θ∘dW_k.

    It acts on directions only; lengths feel no noise. In the sense of Stratonovich this is
    Brownian motion: a token without forces keeps the mean direction e^{−(d−1)t/κ} θ(0).

    Parameters
    ----------
    kappa : float
        κ > 0: noise has the temperature 1/κ, so a large κ means little noise.
    common : bool
        Whether all tokens feel the same noise, one Brownian path in R^d. By default each token
        has a path of its own.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.Transformer([pk.Head(d=3, beta=4.0)], noise=pk.Noise(8.0))
    >>> model.label
    'β = 4, noise κ=8, causal mask'
    >>> run = pk.simulate(model, pk.sphere.uniform(5, 3, seed=1), 1.0, seed=2)
    >>> again = pk.simulate(model, pk.sphere.uniform(5, 3, seed=1), 1.0, seed=2)
    >>> run.stats.seed, bool((run.final == again.final).all())
    (2, True)
    """

    kappa: float
    common: bool = False

    def __post_init__(self) -> None:
        kappa = check.positive("kappa", self.kappa)
        if not 1 / check.LARGEST <= kappa <= check.LARGEST:
            raise InputError(
                f"kappa must lie between {1 / check.LARGEST:g} and {check.LARGEST:g}, got "
                f"{kappa:g}; use noise=None for a model without noise"
            )
        object.__setattr__(self, "kappa", kappa)
        if not isinstance(self.common, bool):
            raise InputError(f"common must be True or False, got {check.brief(self.common)}")

    @property
    def label(self) -> str:
        """A short description for captions."""
        return f"{'common ' if self.common else ''}noise κ={number(self.kappa)}"

    def data(self) -> dict[str, Any]:
        """κ, and whether the noise is common."""
        return {"kappa": self.kappa, "common": self.common}


def read(value: Any) -> Noise | None:
    """The noise of a model: an object, the number κ, or None."""
    if value is None or isinstance(value, Noise):
        return value
    try:
        return Noise(check.positive("noise", value))
    except InputError:
        raise InputError(
            f"noise must be pk.Noise(kappa), a number κ > 0, or None, got {check.brief(value)}"
        ) from None
