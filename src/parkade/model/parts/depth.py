"""Transformers that change with depth: new random heads every so often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Seed
from parkade.model.model import Storable
from parkade.model.parts import norm as norms


@dataclass(frozen=True)
class Resampled(Storable, kind="resampled"):
    """Random heads that are drawn anew again and again, independently of each other.

    Parameters
    ----------
    every : float
        The time after which new heads are drawn.
    seed : int
        The seed of all heads.

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

    def data(self) -> dict[str, Any]:
        """The time between new heads, and the seed."""
        return {"every": self.every, "seed": self.seed}

    def generator(self, layer: int) -> np.random.Generator:
        """The random numbers that the heads of a layer are drawn with."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(layer,)))


def read(value: Any) -> Resampled | None:
    """The `depth` of a transformer, checked."""
    if value is None or isinstance(value, Resampled):
        return value
    raise InputError(
        f"depth must be pk.Resampled(every, seed) or None, got {check.brief(value)}; for given "
        "layers use pk.Layers(times, models)"
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
