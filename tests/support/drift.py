"""A custom part: tokens drift towards a fixed direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import parkade as pk


@dataclass(frozen=True, eq=False)
class Drift(pk.Part, kind="drift"):
    """The force `strength` · `direction` on every token."""

    direction: tuple[float, ...]
    strength: float = 1.0

    @property
    def rate(self) -> float:
        return self.strength

    @property
    def label(self) -> str:
        return f"drift {self.strength:g}"

    def force(self, tokens: Any, around: Any) -> Any:
        return 0 * tokens + pk.like(self.strength * np.asarray(self.direction), tokens)


def drifting(strength=0.1, beta=9.0):
    """Attention on the circle with a drift."""
    return pk.Transformer([pk.Head(d=2, beta=beta)], parts=[Drift((0.0, 1.0), strength)])
