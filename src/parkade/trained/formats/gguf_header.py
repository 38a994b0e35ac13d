"""The header of a .gguf file: metadata, and where its tensors are.

The library `gguf` reads this, too, but makes several arrays for each of 50 000 words, which takes
seconds; so it is used for quantised numbers only.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_DEEPEST = 4  # arrays in arrays


@dataclass(frozen=True)
class Described:
    """A tensor in a file: its name, its shape (out, in), the number of its type and its place."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass
class Header:
    """A reader that goes through a header once; it never reads beyond the end."""

    data: memoryview
    place: int = 4

    def read(self) -> tuple[dict[str, Any], list[Described], int]:
        """The metadata, the tensors, and where their numbers begin."""
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(f"it has version {version}; known are 2 and 3")
        tensors, entries = self._number("Q"), self._number("Q")
        metadata = {}
        for _ in range(self._count(entries, 12)):
            name = self._string()
            metadata[name] = self._value(self._number("I"))
        described = [self._tensor() for _ in range(self._count(tensors, 24))]
        step = metadata.get("general.alignment", 32)
        if not isinstance(step, int) or step < 1:
            raise ValueError("its alignment is no number")
        return metadata, described, -(-self.place // step) * step

    def _tensor(self) -> Described:
        name, dimensions = self._string(), self._number("I")
        if dimensions > 8:
            raise ValueError(f"the tensor {name[:60]} has {dimensions} dimensions")
        shape = tuple(self._number("Q") for _ in range(dimensions))
        if math.prod(shape) > 2**40:
            raise ValueError(f"the tensor {name[:60]} has the shape {shape}")
        return Described(name, shape[::-1], self._number("I"), self._number("Q"))

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self.data, self.place)
        self.place += struct.calcsize("<" + code)
        return value

    def _count(self, count: int, least: int) -> int:
        """A number of entries, checked: each takes at least this number of bytes."""
        if count * least > len(self.data) - self.place:
            raise ValueError(f"it claims {count} entries, for which it is too short")
        return count

    def _string(self) -> str:
        size = self._count(self._number("Q"), 1)
        self.place += size
        return bytes(self.data[self.place - size : self.place]).decode(errors="replace")

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or depth > _DEEPEST:
            raise ValueError(f"it has metadata of the unknown type {kind}")
        inner = self._number("I")
        if inner in _NUMBERS:
            code = _NUMBERS[inner]
            count = self._count(self._number("Q"), struct.calcsize("<" + code))
            values = struct.unpack_from(f"<{count}{code}", self.data, self.place)
            self.place += struct.calcsize(f"<{count}{code}")
            return list(values)
        count = self._count(self._number("Q"), 8)
        return [self._value(inner, depth + 1) for _ in range(count)]
