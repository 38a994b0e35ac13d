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
from parkade.model.parts import weights
from parkade.model.parts.mlp import activate
from parkade.model.parts.position import Position, turned


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
class BiasedHead(Part, kind="biased head"):
    """A head whose queries and keys have biases: scores β⟨R_k(Q x_k + q), R_j(K x_j + k)⟩.

    Without positions k has no effect, since it changes all scores of a token alike.
    """

    Q: Array
    K: Array
    V: Array
    beta: float
    q: Array
    k: Array

    def __post_init__(self) -> None:
        for name in ("Q", "K", "V", "q", "k"):
            object.__setattr__(self, name, check.array(name, getattr(self, name)))

    @property
    def label(self) -> str:
        """The name and β."""
        return f"head with biases, β = {self.beta:.3g}"

    @cached_property
    def sharpness(self) -> float:  # type: ignore[override]
        """β(‖KᵀQ‖ + |Kᵀq| + |Qᵀk|)."""
        biases = np.linalg.norm(self.K.T @ self.q) + np.linalg.norm(self.Q.T @ self.k)
        return self.beta * float(np.linalg.norm(self.K.T @ self.Q, 2) + biases)

    @cached_property
    def rate(self) -> float:  # type: ignore[override]
        """‖V‖, with the spectral norm."""
        return float(np.linalg.norm(self.V, 2))

    @property
    def generator(self) -> Array:  # type: ignore[override]
        """V: the force on a single token is Vx."""
        return self.V

    def force(self, tokens: Any, around: Surroundings) -> Any:
        """The weighted mean of the values, (..., n, d)."""
        from array_api_compat import array_namespace

        xp = array_namespace(tokens)
        q = tokens @ like(self.Q.T, tokens) + like(self.q, tokens)
        k = tokens @ like(self.K.T, tokens) + like(self.k, tokens)
        if around.position is not None:
            q, k = (turned(rows, around.position.frequencies(len(self.Q))) for rows in (q, k))
        seen = around.mask.sees(tokens.shape[-2]).astype(np.float64)
        offsets = like(weights.offsets(seen), tokens)
        scores = self.beta * (q @ xp.matrix_transpose(k)) + offsets
        shares = weights.KINDS[around.attention](xp, scores, like(seen, tokens))
        return shares @ (tokens @ like(self.V.T, tokens))


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

    @property
    def label(self) -> str:
        """Name of this part in descriptions."""
        return "gain"

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
