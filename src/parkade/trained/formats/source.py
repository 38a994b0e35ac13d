"""What a file of weights contains, before any tensor is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.tokens import Tokenizer

_DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


_DIMENSIONS = 8  # at most, of a tensor


@dataclass(frozen=True, eq=False)
class Stored:
    """A tensor in a file: its shape, what reads it, and whether its numbers are whole."""

    shape: tuple[int, ...]
    read: Callable[[], NDArray[Any]]
    whole_numbers: bool = False


@dataclass(frozen=True, eq=False)
class Source:
    """Settings (in the words of a `config.json`), tensors by name, and a tokenizer if any."""

    name: str
    config: dict[str, Any]
    tensors: Mapping[str, Stored]
    tokenizer: Tokenizer | None = None


def stored(
    memory: NDArray[np.uint8],
    code: str,
    shape: tuple[int, ...],
    start: int,
    end: int | None = None,
) -> Stored:
    """A tensor that lies in mapped memory from byte `start` (to `end`); the bounds are checked."""
    if code not in _DTYPES:
        known = ", ".join(_DTYPES)
        got = check.brief(code)
        raise InputError(f"a tensor has numbers of the type {got}; known are {known}")
    dtype = np.dtype(_DTYPES[code])
    check_shape(shape)
    size = math.prod(shape) * dtype.itemsize
    if end not in (None, start + size):
        raise ValueError(f"a tensor has a shape {shape} that does not fit its bytes")
    if not 0 <= start <= start + size <= len(memory):
        raise ValueError("a tensor reaches beyond the end of the file")

    def read() -> NDArray[Any]:
        raw = memory[start : start + size]
        flat = raw.view(dtype) if start % dtype.itemsize == 0 else raw.tobytes()
        numbers = np.frombuffer(flat, dtype) if isinstance(flat, bytes) else flat
        if code == "BF16":  # the upper half of a float32
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        return numbers.reshape(shape)

    return Stored(shape, read, code[0] in "IUB" and code != "BF16")


def check_shape(shape: tuple[Any, ...]) -> None:
    """Raise if this is no shape of a tensor; the product of what passes is quickly computed."""
    if len(shape) > _DIMENSIONS:
        raise ValueError(f"a tensor has {len(shape)} dimensions")
    if not all(type(s) is int and 0 <= s < 2**62 for s in shape):
        raise ValueError(f"a tensor has the shape {check.brief(shape)}")


def mapped(path: Path) -> NDArray[np.uint8]:
    """A file, mapped into memory."""
    if not path.stat().st_size:
        raise ValueError("it is empty")
    return np.memmap(path, np.uint8, "r").view(np.ndarray)
