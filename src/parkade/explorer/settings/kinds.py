"""The kinds of settings: numbers, whole numbers, seeds, choices and matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.explorer.settings.schema import Derived, SettingField, Slider
from parkade.model import matrices

SEED = 2**53 - 1
"""The largest seed that a browser stores exactly."""


@dataclass(frozen=True, kw_only=True)
class Number(SettingField):
    """A number from `low` to `high`."""

    low: float
    high: float
    slider: Slider | None = None
    derived: Derived | None = None

    control = "number"
    sent: ClassVar[tuple[str, ...]] = ("low", "high", "whole", "slider", "derived")
    whole: ClassVar[bool] = False

    @property
    def expected(self) -> str:
        """What its value must be."""
        return f"must be a number from {self.low:g} to {self.high:g}"

    def read(self, name: str, value: Any) -> Any:
        """The value as a float: JSON has 10⁶⁰ as a whole number."""
        # NaN is not between two numbers. True and "9" are numbers to NumPy, but not here.
        if self._is_number(value) and self.low <= value <= self.high:
            return float(value)
        raise self._wrong(name, value)

    @staticmethod
    def _is_number(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    def text(self, value: Any) -> str:
        """The value with at most six digits."""
        return f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class WholeNumber(Number):
    """A whole number from `low` to `high`.

    Attributes
    ----------
    resets_view : bool
        Whether another value makes another picture, which is then seen from its usual side.
    """

    resets_view: bool = False

    sent = (*Number.sent, "resets_view")
    whole = True

    @property
    def expected(self) -> str:
        """What its value must be."""
        return f"must be a whole number from {self.low} to {self.high}"

    def read(self, name: str, value: Any) -> Any:
        """The value, if it is an int."""
        if self._is_number(value) and isinstance(value, int) and self.low <= value <= self.high:
            return value
        raise self._wrong(name, value)

    def text(self, value: Any) -> str:
        """The value with all its digits."""
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Seed(WholeNumber):
    """A seed of random numbers; the page has a button for the next one."""

    low: float = 0
    high: float = SEED
    next_label: str

    control = "seed"
    sent = (*WholeNumber.sent, "next_label")


@dataclass(frozen=True, kw_only=True)
class Choice(SettingField):
    """One of several values; `options` gives the words for each."""

    options: Mapping[str, str]

    control = "choice"
    sent = ("options",)

    @property
    def expected(self) -> str:
        """What its value must be."""
        return f"must be one of {', '.join(map(repr, self.options))}"

    def read(self, name: str, value: Any) -> Any:
        """The value, if it is an option."""
        if isinstance(value, str) and value in self.options:
            return value
        raise self._wrong(name, value)

    def text(self, value: Any) -> str:
        """The words for the value."""
        return self.options[value]


_DIAGONAL = Slider(-2.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class Matrix(SettingField):
    """A square matrix, as text: "I", "2", "1,1,-1", "0,-1;1,0" or "random:SEED".

    Attributes
    ----------
    size : str
        The setting that is its size.
    entries : (float, float)
        The smallest and the largest absolute value of an entry that is not 0.
    slider : Slider
        For the entries of a diagonal.
    """

    size: str
    entries: tuple[float, float] = (1e-6, 1e3)
    slider: Slider = _DIAGONAL

    control = "matrix"
    sent = ("size", "slider")
    longest: ClassVar[int] = 2**16  # characters
    other: ClassVar[str] = "I "  # a form that texts elsewhere do not have
    expected = 'must be a text like "I", "1,1,-1", "0,-1;1,0" or "random:1"'
    too_long: ClassVar[str] = "{name} must have at most {most} characters, got {count}"
    too_large: ClassVar[str] = (
        "{name} must have entries that are 0 or from {low} to {high} in size, got {got}"
    )

    def read(self, name: str, value: Any) -> Any:
        """The text, if it can be read; `matrix` checks the matrix, which has a size."""
        if not isinstance(value, str):
            raise self._wrong(name, value)
        if len(value) > self.longest:
            raise InputError(self.too_long.format(name=name, most=self.longest, count=len(value)))
        self._entries(name, value.strip())
        return value

    def _entries(self, name: str, text: str) -> Array | None:
        """The numbers of a text; None if it is "I" or random."""
        if text == "I" or text.startswith(matrices.RANDOM):
            return None
        return matrices.entries(name, text, other=self.other)

    def matrix(self, name: str, text: str, d: int) -> Array:
        """The (d, d) matrix that a text describes."""
        text = text.strip()
        if text == "I":
            return np.eye(d)
        if text.startswith(matrices.RANDOM):
            seed = matrices.whole(f"{name} random:SEED", text.removeprefix(matrices.RANDOM))
            checked = Seed(label="", next_label="").read(f"SEED of {name}", seed)
            return matrices.seeded(name, checked, d)
        matrix = check.matrix(name, self._entries(name, text), d)
        low, high = self.entries
        size = np.abs(matrix)
        wrong = matrix[(size > high) | ((size < low) & (size > 0))]
        if wrong.size:
            size_range = {"low": f"{low:g}", "high": f"{high:g}"}
            raise InputError(self.too_large.format(name=name, **size_range, got=f"{wrong[0]:g}"))
        return matrix
