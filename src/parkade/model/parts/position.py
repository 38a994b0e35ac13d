"""Positions: how a head sees where tokens stand in the sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.arrays import like
from parkade.model.model import Storable


class Position(Storable):
    """What the place of a token in the sequence does to scores.

    The score of token k with token j is β⟨R_k Q x_k, R_j K x_j⟩ + b(k − j). A position defines
    the rotations R_k of queries and keys, the bias b, or both.

    Attributes
    ----------
    label : str
        A short description for captions.
    """

    label: str = ""

    def frequencies(self, m: int) -> Array:
        """Angles per place by which R_k turns the planes (0, 1), (2, 3), … of m axes; or none."""
        return np.empty(0)

    def slopes(self, heads: int) -> Array:
        """b(k − j) = −slope·|k − j| for each head."""
        return np.zeros(heads)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # positions contain arrays

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.data().items())
        return f"{type(self).__name__}({inside})"


class Rope(Position, kind="rope"):
    """Rotary positions: R_k turns the plane (2i, 2i+1) of queries and keys by k·base^{−2i/m}.

    The places are k = 0, 1, … in sequence order, and queries and keys have m components. So scores
    depend on distances in the sequence only. If m is odd, the last component stays as it is.

    Parameters
    ----------
    base : float

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Rope(base=100.0).frequencies(4).tolist()
    [1.0, 0.1]
    """

    def __init__(self, base: float = 10000.0) -> None:
        self.base = check.positive("base", base)

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name, for captions."""
        return "RoPE"

    def frequencies(self, m: int) -> Array:
        """Angles per place: base^{−2i/m} for the plane i."""
        angles: Array = self.base ** (-2.0 * np.arange(m // 2) / m)
        return angles

    def data(self) -> dict[str, Any]:
        """The base of the angles."""
        return {"base": self.base}


class Alibi(Position, kind="alibi"):
    """A bias against distance in the sequence: b(k − j) = −slope·|k − j|.

    Parameters
    ----------
    slope : float or one for each head
        Numbers ≥ 0.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Alibi([0.5, 0.25]).slopes(2).tolist()
    [0.5, 0.25]
    """

    def __init__(self, slope: ArrayLike) -> None:
        self.slope = check.array("slope", slope)
        if self.slope.ndim > 1 or self.slope.size == 0 or (self.slope < 0).any():
            raise InputError(
                f"slope must be a number ≥ 0, or one for each head, got {check.brief(slope)}"
            )
        self.slope.flags.writeable = False

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name, for captions."""
        return "ALiBi"

    def slopes(self, heads: int) -> Array:
        """One slope for each head."""
        if self.slope.ndim and len(self.slope) != heads:
            raise InputError(
                f"slope must be one number, or one for each of the {heads} heads, got "
                f"{len(self.slope)}"
            )
        return np.broadcast_to(self.slope, heads)

    def data(self) -> dict[str, Any]:
        """The slopes of the heads."""
        return {"slope": self.slope.tolist()}


def turned(vectors: Any, frequencies: Array) -> Any:
    """R_k y_k for all queries or keys, (..., n, m)."""
    from array_api_compat import array_namespace

    xp = array_namespace(vectors)
    n, m = vectors.shape[-2:]
    angles = np.zeros((n, m))
    angles[:, : 2 * len(frequencies)] = np.repeat(np.arange(n)[:, None] * frequencies, 2, axis=1)
    quarter = np.zeros((m, m))  # turns each plane by a right angle
    for i in range(len(frequencies)):
        quarter[2 * i, 2 * i + 1], quarter[2 * i + 1, 2 * i] = 1.0, -1.0
    there = like(angles, vectors)
    return xp.cos(there) * vectors + xp.sin(there) * (vectors @ like(quarter, vectors))


def distances(n: int) -> Array:
    """|k − j| for all pairs, (n, n)."""
    places = np.arange(n, dtype=np.float64)
    return np.abs(places[:, None] - places)
