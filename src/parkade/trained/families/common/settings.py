"""`ModelSettings`: the settings of a model, checked where they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.block import Activation

_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
    "relu": "relu",
}

_LARGEST = 2**24  # of a setting: larger ones are no model's, and would fill the memory


@dataclass(frozen=True, eq=False)
class ModelSettings:
    """The settings of a model, or an object inside them, and which of them were read.

    Attributes
    ----------
    config : mapping
        The settings by name.
    inside : str
        What comes before their names in messages: "rope_parameters." for an object of that name.
    names_read : set of str
        Names that were asked for, whether they are there or not.
    """

    config: Mapping[str, Any]
    inside: str = ""
    names_read: set[str] = field(default_factory=set)

    def value(self, name: str) -> Any:
        """A setting as it is; None if it is absent."""
        self.names_read.add(name)
        return self.config.get(name)

    def size(self, name: str, default: int | None = None) -> int:
        """A setting that is a whole number ≥ 1."""
        value = self.value(name)
        if value is None and default is not None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < _LARGEST:
            return value
        raise self._wrong(name, f"a whole number from 1 to {_LARGEST - 1}", value)

    def number(self, name: str, default: float | None = None) -> float:
        """A setting that is a number > 0."""
        value = self.value(name)
        return check.positive(
            f"the setting {self.inside}{name} of the model", default if value is None else value
        )

    def epsilon(self, name: str, default: float) -> float:
        """A setting that is added under a root: a number ≥ 0."""
        value = self.value(name)
        if value is None:
            return default
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
            return float(value)
        raise self._wrong(name, "a number ≥ 0 and below 1", value)

    def cap(self, name: str) -> float:
        """A setting that is a number > 0; 0 if it is absent."""
        return 0.0 if self.value(name) is None else self.number(name)

    def index(self, name: str, default: int) -> int:
        """A setting that is a whole number ≥ 0."""
        return 0 if self.value(name) == 0 else self.size(name, default)

    def flag(self, name: str, default: bool) -> bool:
        """A setting that is true or false."""
        value = self.value(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        raise self._wrong(name, "true or false", value)

    def only(self, name: str, known: Any, of: str) -> None:
        """Raise unless a setting is absent or has the one value that is known."""
        value = self.value(name)
        if value is not None and value != known:
            raise InputError(
                f"{of} with {name}={check.brief(value)} is unknown; known is {check.brief(known)}"
            )

    def activation(self, name: str, default: str) -> Activation:
        """The activation of the MLP."""
        value = self.value(name)
        value = default if value is None else value
        if isinstance(value, str) and value in _ACTIVATIONS:
            return _ACTIVATIONS[value]
        raise self._wrong(name, f"one of {', '.join(_ACTIVATIONS)}", value)

    def part(self, name: str) -> ModelSettings | None:
        """The settings in an object; None if it is absent or empty."""
        value = self.value(name)
        if not value:
            return None
        if not isinstance(value, dict):
            raise self._wrong(name, "an object", value)
        return ModelSettings(value, f"{self.inside}{name}.")

    def each(self, name: str, count: int) -> list[Any] | None:
        """A setting that lists one value per layer; None if it is absent."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != count:
            raise self._wrong(name, f"a list of {count} values, one per layer", value)
        return value

    def _wrong(self, name: str, expected: str, value: Any) -> InputError:
        return InputError(
            f"the setting {self.inside}{name} of the model must be {expected}, got "
            f"{check.brief(value)}"
        )


def divided(what: str, whole: int, parts: int) -> int:
    """The size of each of equal parts."""
    if whole % parts:
        raise InputError(f"{what} cannot be divided into {parts} equal parts, got {whole}")
    return whole // parts
