"""How a setting of the explorer is declared: once, as an annotated field of `Settings`.

The check of its value, its control on the page and its name in captions follow from this.
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
class SettingField(ABC):
    """The declaration of one setting.

    Attributes
    ----------
    label : str
        A few words that name the setting.
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
    sent: ClassVar[tuple[str, ...]]
    """The attributes of this kind of setting that the page needs besides those of all kinds."""

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
        """The value as captions and lists of settings write it."""
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
        own = {name: _plain(getattr(self, name)) for name in self.sent}
        return usual | {name: value for name, value in more if value} | own


def _plain(value: Any) -> Any:
    """A slider, a derived number, options or anything else, ready for JSON."""
    if isinstance(value, Mapping):
        return list(map(list, value.items()))
    return value._asdict() if isinstance(value, Slider | Derived) else value


def declared(settings: type) -> dict[str, SettingField]:
    """The declarations in the annotations of a dataclass, by name, in the order of the page."""
    hints = get_type_hints(settings, include_extras=True)
    return {f.name: hints[f.name].__metadata__[0] for f in dataclasses.fields(settings)}


def schema(settings: type) -> list[dict[str, Any]]:
    """What the page needs to know of all settings, ready for JSON."""
    return [
        {"name": name, "default": getattr(settings, name), **field.to_dict()}
        for name, field in declared(settings).items()
    ]
