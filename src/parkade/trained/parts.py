"""Parts of trained layers that other transformers of parkade do not have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.types import Array
from parkade.model.arrays import like
from parkade.model.part import Part, Surroundings
from parkade.model.parts.mlp import activate
from parkade.model.parts.position import Position


class Turns(Position, kind="turns"):
    """RoPE with any angles per place, of the planes (0, 1), (2, 3), … of queries and keys.

    Parameters
    ----------
    angles : (p,) array
        Axes from 2p on stay as they are.
    """

    def __init__(self, angles: Any) -> None:
        self.angles = check.array("angles", angles)
        self.angles.flags.writeable = False

    @property
    def label(self) -> str:  # type: ignore[override]
        """Name of these positions in descriptions."""
        return "RoPE"

    def frequencies(self, m: int) -> Array:
        """Angles per place, for heads of width m."""
        return self.angles[: m // 2]

    def data(self) -> dict[str, Any]:
        """The angles, as plain lists for files."""
        return {"angles": self.angles.tolist()}


@dataclass(frozen=True, eq=False)
class Constant(Part, kind="constant"):
    """The same force on every token: biases of values and outputs."""

    vector: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", check.array("vector", self.vector))

    @property
    def rate(self) -> float:  # type: ignore[override]
        """The size of the force."""
        return float(np.linalg.norm(self.vector))

    @property
    def label(self) -> str:
        """Name of this part in descriptions."""
        return "constant force"

    def force(self, tokens: Any, around: Surroundings) -> Any:
        """The vector, for each token."""
        return 0 * tokens + like(self.vector, tokens)


@dataclass(frozen=True, eq=False)
class Gain(Part, kind="gain"):
    """The gain of a LayerNorm in the residual stream of post-norm: gain·x − mean(gain·x) − x."""

    gain: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", check.array("gain", self.gain))

    @cached_property
    def generator(self) -> Array:  # type: ignore[override]
        """The matrix of the force."""
        scaled = np.diag(self.gain)
        matrix: Array = scaled - scaled.mean(axis=0) - np.eye(len(self.gain))
        return matrix

    @property
    def rate(self) -> float:  # type: ignore[override]
        """A bound of its norm."""
        return float(np.abs(self.gain).max() + 1)

    def force(self, tokens: Any, around: Surroundings) -> Any:
        """The force on each token."""
        return tokens @ like(self.generator.T, tokens)


@dataclass(frozen=True, eq=False)
class Network(Part, kind="network"):
    """An MLP with a gate, or with another activation than those of `parkade.MLP`.

    W2 σ(W1 x + b1) + b2, or with a gate W2 (σ(gate x)·(W1 x + b1)) + b2.
    """

    W1: Array
    W2: Array
    b1: Array
    b2: Array
    activation: str
    gate: Array | None = None

    def __post_init__(self) -> None:
        for name in ("W1", "W2", "b1", "b2", "gate"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check.array(name, getattr(self, name)))

    @property
    def label(self) -> str:
        """Name and width of the network."""
        return f"{'gated ' if self.gate is not None else ''}MLP of width {len(self.W1)}"

    @cached_property
    def rate(self) -> float:  # type: ignore[override]
        """‖W2‖‖W1‖, with spectral norms, times that of the gate."""
        extra = 1.0 if self.gate is None else float(np.linalg.norm(self.gate, 2))
        return extra * float(np.linalg.norm(self.W2, 2) * np.linalg.norm(self.W1, 2))

    def force(self, tokens: Any, around: Surroundings) -> Any:
        """The force on each token."""
        from array_api_compat import array_namespace

        xp = array_namespace(tokens)
        hidden = tokens @ like(self.W1.T, tokens) + like(self.b1, tokens)
        if self.gate is None:
            hidden = _active(xp, self.activation, hidden)
        else:
            hidden = hidden * _active(xp, self.activation, tokens @ like(self.gate.T, tokens))
        return hidden @ like(self.W2.T, tokens) + like(self.b2, tokens)


def _active(xp: Any, name: str, x: Any) -> Any:
    if name == "gelu_tanh":
        return x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    return activate(name, x)
