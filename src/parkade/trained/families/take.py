"""Take tensors out of files, with checks; and read settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.block import Activation, Floats, NormWeights, Readout
from parkade.trained.formats.source import Stored

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
class Take:
    """A function from names and shapes to tensors.

    Attributes
    ----------
    tensors : mapping of Stored
    dtype : dtype
        float32 or float64.
    prefix : str
        Names may begin with it.
    dry : bool
        Whether to check names and shapes only; tensors are zeros then.
    """

    tensors: Mapping[str, Stored]
    dtype: np.dtype[Any]
    prefix: str = ""
    dry: bool = False

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.tensors or name in self.tensors

    def __call__(self, name: str, *shape: int) -> Floats:
        """The tensor with this name, which must have this shape and finite entries."""
        whole = self.prefix + name if self.prefix + name in self.tensors else name
        if whole not in self.tensors:
            raise InputError(
                f"the weights have no tensor {self.prefix + name}, which a model with these "
                "settings needs; the file may be of another architecture"
            )
        tensor = self.tensors[whole]
        if tensor.shape != shape:
            raise InputError(
                f"the tensor {whole} has the shape {tensor.shape}, but the settings of the model "
                f"ask for {shape}"
            )
        if self.dry:
            return np.broadcast_to(np.zeros((), self.dtype), shape)
        numbers = np.ascontiguousarray(tensor.read().astype(self.dtype, copy=False))
        if not np.isfinite(numbers).all():
            where = np.argwhere(~np.isfinite(numbers))[0].tolist()
            place = ", ".join(map(str, where))
            raise InputError(
                f"the tensor {whole} must be finite, got {numbers[tuple(where)]} at index {place}; "
                "the file is damaged"
            )
        numbers.flags.writeable = False
        return numbers

    def layer_norm(self, name: str, size: int, eps: float) -> NormWeights:
        """The LayerNorm whose gain and bias have this name."""
        gain, bias = self(f"{name}.weight", size), self(f"{name}.bias", size)
        return NormWeights(gain, bias, eps, centred=True)

    def maybe(self, name: str, *shape: int) -> Floats | None:
        """The tensor with this name, or None if there is none."""
        return self(name, *shape) if name in self else None


@dataclass(frozen=True, eq=False)
class ModelSettings:
    """The settings of a model, checked where they are read."""

    config: Mapping[str, Any]

    def size(self, name: str, default: int | None = None) -> int:
        """A setting that is a whole number ≥ 1."""
        value = self.config.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < _LARGEST:
            return value
        raise InputError(
            f"the setting {name} of the model must be a whole number from 1 to {_LARGEST - 1}, got "
            f"{check.brief(value)}"
        )

    def number(self, name: str, default: float) -> float:
        """A setting that is a number > 0."""
        value = self.config.get(name)
        return check.positive(
            f"the setting {name} of the model", default if value is None else value
        )

    def flag(self, name: str, default: bool) -> bool:
        """A setting that is true or false."""
        value = self.config.get(name)
        return default if value is None else bool(value)

    def activation(self, name: str, default: str) -> Activation:
        """The activation of the MLP."""
        value = self.config.get(name, default)
        if isinstance(value, str) and value in _ACTIVATIONS:
            return _ACTIVATIONS[value]
        known = ", ".join(_ACTIVATIONS)
        raise InputError(
            f"the setting {name} of the model must be one of {known}, got {check.brief(value)}"
        )


def readout(
    take: Take, settings: ModelSettings, embedding: Floats, names: tuple[str, ...], tied: bool
) -> Readout | None:
    """Logits by the embedding, if the settings (by default `tied`) say so, or by one of `names`."""
    if settings.flag("tie_word_embeddings", tied):
        return Readout(embedding)
    present = [name for name in names if name in take]
    return Readout(take(present[0], *embedding.shape)) if present else None


def divided(what: str, whole: int, parts: int) -> int:
    """The size of each of equal parts."""
    if whole % parts:
        raise InputError(f"{what} cannot be divided into {parts} equal parts, got {whole}")
    return whole // parts
