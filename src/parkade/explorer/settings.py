"""`Settings`: what a person may choose in the explorer, checked field by field."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.parking import renyi_centers, strong_renyi_centers
from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array, Mask
from parkade.model import matrices, sphere
from parkade.model.attention import Attention

N, D, BETA, C, T = 2000, 64, 1e6, 1e3, 1e60
"""The largest values of n, d, β, c and T."""

SHORTEST = 1e-3
"""The smallest T."""

ENTRY = 1e-6, 1e3
"""Size of the entries of Q, K and V, other than 0; another V would only be another clock."""

SEED = 2**53 - 1
"""The largest seed that a browser keeps exactly."""

_TEXT = 2**16  # characters of a matrix

CENTERS: dict[str, Callable[[Array, float], NDArray[np.int64]]] = {
    "renyi": renyi_centers,
    "strong": strong_renyi_centers,
}


class FieldError(InputError):
    """A setting is wrong; `field` tells which."""

    def __init__(self, field: str | None, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True)
class Settings:
    """One run of the explorer.

    Attributes
    ----------
    n, d, beta : int, int, float
        Tokens, dimension and β.
    c : float
        Centres are separated by the angle δ = cβ^{-1/2}, or π if that is more.
    V, Q, K : str
        "I", a number, a diagonal "1,1,-1", rows "0,-1;1,0", or "random:SEED".
    mask : "causal" or "full"
    frozen : "none", "renyi" or "strong"
        Which centres of the start are held where they are, for everybody to attend to.
    seed : int
        Of the uniform start.
    T : float
        Final time.

    Examples
    --------
    >>> from parkade.explorer import Settings
    >>> Settings.read({"n": 200, "d": 2, "beta": 64}).delta
    0.5
    """

    n: int = 32
    d: int = 3
    beta: float = 9.0
    c: float = 4.0
    V: str = "I"
    Q: str = "I"
    K: str = "I"
    mask: Mask = "causal"
    frozen: str = "none"
    seed: int = 1
    T: float = 1000.0

    def __post_init__(self) -> None:
        for name, (read, *bounds) in _FIELDS.items():
            # As numbers of one kind: 10⁶⁰ is a whole number to JSON.
            object.__setattr__(self, name, _in_field(name, read, getattr(self, name), *bounds))
        self.model  # noqa: B018  complains about wrong matrices

    @classmethod
    def read(cls, data: Any) -> Settings:
        """Settings from decoded JSON; what is left out has its default."""
        if not isinstance(data, Mapping):
            raise FieldError(None, f"settings must be one JSON object, got {check.brief(data)}")
        names = [f.name for f in fields(cls)]
        for key in data:
            if key not in names:
                raise FieldError(
                    str(key)[:60],
                    f"there is no setting {check.brief(key)}; the settings are {', '.join(names)}",
                )
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """All settings, as `read` takes them."""
        return asdict(self)

    @cached_property
    def model(self) -> Attention:
        """The model they describe."""
        read = {m: _in_field(m, _matrix, getattr(self, m), self.d) for m in "QKV"}
        return Attention(self.d, self.beta, mask=self.mask, **read)

    @cached_property
    def start(self) -> Array:
        """The tokens at time 0, (n, d)."""
        return sphere.uniform(self.n, self.d, self.seed)

    @property
    def delta(self) -> float:
        """The angle by which centres are separated."""
        return separation(self.c, self.beta)

    @cached_property
    def held(self) -> NDArray[np.int64]:
        """Indices of the tokens of the start that are frozen, increasing."""
        if self.frozen == "none":
            return np.empty(0, dtype=np.int64)
        found = CENTERS[self.frozen](self.start, self.delta)
        if len(found) == self.n:
            raise FieldError(
                "frozen",
                f"frozen={self.frozen!r} holds all {self.n} tokens and leaves none to move; raise "
                "c or n, or choose 'none'",
            )
        return found


def separation(c: float, beta: float) -> float:
    """δ = cβ^{-1/2}, at most π: no two tokens are farther apart."""
    return min(math.pi, c / math.sqrt(beta)) if beta > 0 else math.pi


def _in_field(field: str, read: Callable[..., Any], value: Any, *bounds: Any) -> Any:
    """What `read` makes of the value; a complaint carries the name of the field."""
    try:
        return read(field, value, *bounds)
    except InputError as error:
        raise FieldError(field, str(error)) from None


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    got = check.brief(value)
    raise InputError(f"{name} must be a whole number from {least} to {most}, got {got}")


def _number(name: str, value: Any, least: float, most: float) -> float:
    # NaN is not between anything; True and "9" are numbers to NumPy, but not here.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return float(value)
    raise InputError(
        f"{name} must be a number from {least:g} to {most:g}, got {check.brief(value)}"
    )


def _matrix(name: str, value: Any, d: int) -> Array:
    if not isinstance(value, str):
        raise InputError(
            f'{name} must be a text like "I", "1,1,-1", "0,-1;1,0" or "random:1", '
            f"got {check.brief(value)}"
        )
    if len(value) > _TEXT:
        raise InputError(f"{name} must have at most {_TEXT} characters, got {len(value)}")
    text = value.strip()
    if text == "I":
        return np.eye(d)
    if text.startswith(matrices.RANDOM):
        seed = matrices.whole(f"{name} random:SEED", text.removeprefix(matrices.RANDOM))
        return matrices.seeded(name, _whole(f"SEED of {name}", seed, 0, SEED), d)
    found = check.matrix(name, matrices.entries(name, text, other="I "), d)
    size = np.abs(found)
    wrong = found[(size > ENTRY[1]) | ((size < ENTRY[0]) & (size > 0))]
    if wrong.size:
        raise InputError(
            f"{name} must have entries that are 0 or from {ENTRY[0]:g} to {ENTRY[1]:g} in size, "
            f"got {wrong[0]:g}"
        )
    return found


_FIELDS: dict[str, tuple[Any, ...]] = {
    "n": (_whole, 1, N),
    "d": (_whole, 2, D),
    "beta": (_number, 0.0, BETA),
    "c": (_number, 1e-3, C),
    "mask": (check.choice, ("causal", "full")),
    "frozen": (check.choice, ("none", *CENTERS)),
    "seed": (_whole, 0, SEED),
    "T": (_number, SHORTEST, T),
}
