"""Take tensors out of files, with checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parkade.base.errors import InputError
from parkade.trained.block import Floats, NormWeights, Readout
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.formats.source import Stored


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
    names_read : set of str
        The names of the tensors that were taken.
    """

    tensors: Mapping[str, Stored]
    dtype: np.dtype[Any]
    prefix: str = ""
    dry: bool = False
    names_read: set[str] = field(default_factory=set)

    def __contains__(self, name: str) -> bool:
        return self._whole(name) in self.tensors

    def _whole(self, name: str) -> str:
        return self.prefix + name if self.prefix + name in self.tensors else name

    def __call__(self, name: str, *shape: int) -> Floats:
        """The tensor with this name, which must have this shape and finite entries."""
        whole = self._whole(name)
        if whole not in self.tensors:
            raise InputError(
                f"the weights have no tensor {self.prefix + name}, which a model with these "
                "settings needs; the file may be of another architecture"
            )
        self.names_read.add(whole)
        tensor = self.tensors[whole]
        if tensor.shape != shape:
            raise InputError(
                f"the tensor {whole} has the shape {tensor.shape}, but the settings of the model "
                f"ask for {shape}"
            )
        if tensor.whole_numbers:
            raise InputError(
                f"the tensor {whole} has whole numbers, as quantised weights do, which are "
                "unknown; save the model with weights of 16 or 32 bits, or as a GGUF file"
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

    def tied(self, name: str, to: Floats) -> Floats:
        """The array `to`, whose copy of this name, if the file has one, must be equal to it."""
        copy = self.maybe(name, *to.shape)
        if copy is not None and not self.dry and not np.array_equal(copy, to):
            raise InputError(
                f"the tensor {self._whole(name)} is not equal to the one that it is tied to; set "
                "tie_word_embeddings to false in config.json if it is another one"
            )
        return to


def readout(
    take: Take, settings: ModelSettings, embedding: Floats, names: tuple[str, ...], tied: bool
) -> Readout | None:
    """Logits by the embedding, if the settings (by default `tied`) say so, or by one of `names`."""
    present = [name for name in names if name in take]
    if settings.flag("tie_word_embeddings", tied):
        for name in present:
            take.tied(name, embedding)
        return Readout(embedding)
    return Readout(take(present[0], *embedding.shape)) if present else None
