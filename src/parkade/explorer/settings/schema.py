"""What a setting of the explorer can be: how it is checked, and how the page shows it.

A setting is declared once, as an annotated field of `Settings`. All else follows from this.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_type_hints

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model import matrices

SEED = 2**53 - 1
"""The largest seed that a browser keeps exactly."""


class FieldError(InputError):
    """A setting is wrong; `field` is its name, or None if the error concerns no single one.

    `others` are the errors of other settings that are wrong at the same time.
    """

    def __init__(self, field: str | None, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
        self.others: list[FieldError] = []


class Slider(NamedTuple):
    """The range of a slider, which may be smaller than the range of the setting."""

    low: float
    high: float
    log: bool = False


class Derived(NamedTuple):
    """A quantity shown next to a number: a product of powers of settings, at most `most`.

    In `formula`, ``*x*`` is set in italics.
    """

    symbol: str
    formula: str
    powers: Mapping[str, float]
    most: float

    def value(self, settings: Mapping[str, Any]) -> float:
        """Its value for these settings."""
        with np.errstate(divide="ignore"):  # 0 to a negative power is infinite
            factors = [np.float64(settings[name]) ** p for name, p in self.powers.items()]
        return min(self.most, float(np.prod(factors)))


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """One setting.

    Attributes
    ----------
    label : str
        A few words that say what it is.
    symbol : str
        Its symbol in the paper; the label is used where there is none.
    caption : "always", "changed" or "never"
        Whether the caption of a picture names it; "changed" if it has not its default value.
    phrase : str
        How a caption names it, with ``{}`` for its value; "symbol = value" by default.
    group, help : str
        A heading under which the page folds it away, and a sentence about it; or none.
    idle : mapping
        Values of other settings, all of which together make this one do nothing, and hidden.
    """

    label: str
    symbol: str = ""
    caption: Literal["always", "changed", "never"] = "changed"
    phrase: str = ""
    group: str = ""
    help: str = ""
    idle: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)

    control: ClassVar[str]
    """The name of the control on the page."""

    @property
    def title(self) -> str:
        """What a list of settings calls it."""
        return self.symbol or self.label

    @property
    @abstractmethod
    def expected(self) -> str:
        """What its value must be, after its name in a sentence."""

    @abstractmethod
    def read(self, name: str, value: Any) -> Any:
        """The value, checked; raises `InputError`."""

    def _wrong(self, name: str, value: Any) -> InputError:
        """The error for a value that is not as expected."""
        return InputError(f"{name} {self.expected}, got {check.brief(value)}")

    def text(self, value: Any) -> str:
        """The value in words."""
        return str(value)

    def phrased(self, value: Any) -> str:
        """The setting in a caption; a text that is too long for it is left out."""
        text = self.text(value)
        return (self.phrase or f"{self.title} = {{}}").format(text if len(text) <= 40 else "…")

    def is_idle(self, settings: Mapping[str, Any]) -> bool:
        """Whether it does nothing beside these settings."""
        return bool(self.idle) and all(settings[k] in values for k, values in self.idle.items())

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to show it, ready for JSON."""
        idle = {name: list(values) for name, values in self.idle.items()}
        more = {"group": self.group, "help": self.help, "idle": idle}.items()
        usual = {"control": self.control, "label": self.label, "symbol": self.symbol}
        return usual | {name: value for name, value in more if value}


@dataclass(frozen=True, kw_only=True)
class Number(Field):
    """A number from `low` to `high`."""

    low: float
    high: float
    slider: Slider | None = None
    derived: Derived | None = None

    control = "number"
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

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to show it, ready for JSON."""
        return {
            **super().to_dict(),
            "low": self.low,
            "high": self.high,
            "whole": self.whole,
            "slider": self.slider and self.slider._asdict(),
            "derived": self.derived and self.derived._asdict(),
        }


@dataclass(frozen=True, kw_only=True)
class WholeNumber(Number):
    """A whole number from `low` to `high`.

    Attributes
    ----------
    resets_view : bool
        Whether another value makes another picture, which is then seen from its usual side.
    """

    resets_view: bool = False

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
        """All digits."""
        return str(value)

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to show it, ready for JSON."""
        return {**super().to_dict(), "resets_view": self.resets_view}


@dataclass(frozen=True, kw_only=True)
class Seed(WholeNumber):
    """A seed of random numbers; the page has a button for the next one."""

    low: float = 0
    high: float = SEED
    next_label: str

    control = "seed"

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to show it, ready for JSON."""
        return {**super().to_dict(), "next_label": self.next_label}


@dataclass(frozen=True, kw_only=True)
class Choice(Field):
    """One of several values; `options` gives the words for each."""

    options: Mapping[str, str]

    control = "choice"

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

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to show it, ready for JSON."""
        return {**super().to_dict(), "options": list(map(list, self.options.items()))}


_DIAGONAL = Slider(-2.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class Matrix(Field):
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
        found = check.matrix(name, self._entries(name, text), d)
        low, high = self.entries
        size = np.abs(found)
        wrong = found[(size > high) | ((size < low) & (size > 0))]
        if wrong.size:
            size_range = {"low": f"{low:g}", "high": f"{high:g}"}
            raise InputError(self.too_large.format(name=name, **size_range, got=f"{wrong[0]:g}"))
        return found

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to show it, ready for JSON."""
        return {**super().to_dict(), "size": self.size, "slider": self.slider._asdict()}


def declared(settings: type) -> dict[str, Field]:
    """The declarations in the annotations of a dataclass, by name, in the order of the page."""
    hints = get_type_hints(settings, include_extras=True)
    return {f.name: hints[f.name].__metadata__[0] for f in dataclasses.fields(settings)}


def schema(settings: type) -> list[dict[str, Any]]:
    """What the page needs to know of all settings, ready for JSON."""
    return [
        {"name": name, "default": getattr(settings, name), **field.to_dict()}
        for name, field in declared(settings).items()
    ]
