"""How a transformer changes with depth: not at all, or with new random heads now and then."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Seed
from parkade.model.model import Storable
from parkade.model.parts import norm as norms


@dataclass(frozen=True)
class Depth(Storable):
    """How a transformer changes with depth."""

    def data(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


@dataclass(frozen=True)
class Tied(Depth, kind="tied"):
    """The same weights at any time, as in a transformer whose layers share them.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Transformer(2, d=3, seed=1, depth=pk.Tied()).label
    '2 heads, causal mask'
    """


@dataclass(frozen=True)
class Resampled(Depth, kind="resampled"):
    """Random heads that are drawn anew again and again, independently.

    Parameters
    ----------
    every : float
        How long heads stay, in units of time.
    seed : int
        Where they come from.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.Transformer(2, d=3, depth=pk.Resampled(every=0.5, seed=1))
    >>> model.label
    '2 heads, resampled every 0.5, causal mask'
    >>> model.at(0.4) == model.at(0.0), model.at(0.5) == model.at(0.0)
    (True, False)
    """

    every: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", check.positive("every", self.every))
        if isinstance(self.seed, (bool, np.bool_)) or not isinstance(self.seed, (int, np.integer)):
            raise InputError(f"seed must be a whole number ≥ 0, got {check.brief(self.seed)}")
        check.generator(int(self.seed))
        object.__setattr__(self, "seed", int(self.seed))

    def generator(self, layer: int) -> np.random.Generator:
        """The source of the heads of a layer."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(layer,)))


TIED = Tied()


def read(value: Any) -> Depth:
    """A depth, checked."""
    if isinstance(value, Depth):
        return value
    raise InputError(
        f"depth must be pk.Tied() or pk.Resampled(every, seed), got {check.brief(value)}; for "
        "given layers use pk.Layers(times, models)"
    )


def check_random(heads: Any, seed: Seed, norm: str | norms.Norm) -> None:
    """Raise unless heads can be drawn anew."""
    if not isinstance(heads, (int, np.integer)) or isinstance(heads, bool):
        raise InputError(
            "depth=pk.Resampled(…) draws random heads, as in pk.Transformer(4, d=8, depth=…), got "
            f"heads={check.brief(heads)}; for given layers use pk.Layers(times, models)"
        )
    if seed is not None:
        raise InputError("resampled heads have a seed of their own: pk.Resampled(every, seed)")
    if isinstance(norms.read(norm), norms.Mix):
        raise InputError(
            "norm='mix' and depth=pk.Resampled(…) both change the model with time; use one of "
            "both, or pk.Layers(times, models)"
        )
