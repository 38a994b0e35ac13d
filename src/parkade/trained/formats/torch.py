"""Files of PyTorch, pickles old and new: read by an unpickler that can only make tensors."""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from parkade.trained.formats.source import Stored, mapped, stored

_MAGIC = 0x1950A86A20F9469CFC6C  # begins an old file
_STORAGES = {
    "DoubleStorage": ("F64", 8),
    "FloatStorage": ("F32", 4),
    "HalfStorage": ("F16", 2),
    "BFloat16Storage": ("BF16", 2),
    "LongStorage": ("I64", 8),
    "IntStorage": ("I32", 4),
    "ShortStorage": ("I16", 2),
    "CharStorage": ("I8", 1),
    "ByteStorage": ("U8", 1),
    "BoolStorage": ("BOOL", 1),
}
_MEMORY = 2**20  # objects that a pickle may remember
_LARGEST = 10_000_000  # bytes of a pickle: names and shapes, no numbers


@dataclass(frozen=True)
class _Storage:
    """Numbers in a file, by their key."""

    key: str
    code: str
    count: int


@dataclass(frozen=True)
class _Tensor:
    """A tensor as a pickle describes it."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *others: Any) -> _Tensor:
    sizes = (*shape, *strides, offset)
    whole = all(isinstance(x, int) and 0 <= x < 2**62 for x in sizes)
    if not isinstance(storage, _Storage) or not whole or len(shape) != len(strides):
        raise pickle.UnpicklingError("a tensor in it is not one")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _parameter(data: Any, *others: Any) -> Any:
    return data


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows tensors, and refuses every other name without importing it."""

    _names: dict[tuple[str, str], Any] = {  # noqa: RUF012
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_parameter"): _parameter,
    }

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self.seen: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for."""
        if (module, name) in self._names:
            return self._names[module, name]
        if module == "torch" and name in _STORAGES:
            return name
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not a tensor")

    def persistent_load(self, number: Any) -> _Storage:
        """Numbers that the file has elsewhere."""
        kind, name, key, _, count, *_ = number
        if kind != "storage" or name not in _STORAGES or not isinstance(count, int):
            raise pickle.UnpicklingError("it has numbers of an unknown kind")
        storage = _Storage(str(key), _STORAGES[name][0], count)
        return self.seen.setdefault(storage.key, storage)


def read(path: Path) -> dict[str, Stored]:
    """The tensors of a file, by name; none is read yet."""
    memory = mapped(path)
    places: Callable[[_Storage], int]
    if zipfile.is_zipfile(path):
        found, places = _read_zip(path, memory)
    else:
        with path.open("rb") as file:
            found, places = _read_old(file, len(memory))
    if isinstance(found, dict) and isinstance(found.get("state_dict"), dict):
        found = found["state_dict"]
    if not isinstance(found, dict):
        raise ValueError("it is not a dictionary of tensors")
    return {
        str(name): _stored(memory, tensor, places(tensor.storage))
        for name, tensor in found.items()
        if isinstance(tensor, _Tensor)
    }


def _read_zip(path: Path, memory: NDArray[np.uint8]) -> tuple[Any, Callable[[_Storage], int]]:
    with zipfile.ZipFile(path) as archive:
        inside = {member.filename: member for member in archive.infolist()}
        name = next((name for name in inside if name.endswith("/data.pkl")), "")
        if not name or inside[name].file_size > _LARGEST:
            raise ValueError("it has no list of tensors")
        with archive.open(name) as stream:
            found, _ = _load(io.BytesIO(stream.read(_LARGEST)))
    folder = name.removesuffix("data.pkl")

    def place(storage: _Storage) -> int:
        member = inside[f"{folder}data/{storage.key}"]
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError("its numbers are compressed")
        head = memory[member.header_offset : member.header_offset + 30].tobytes()
        skip = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        if storage.count * _bytes(storage) > member.file_size:
            raise ValueError("it has fewer numbers than its tensors need")
        return member.header_offset + 30 + skip

    return found, place


def _read_old(stream: BinaryIO, size: int) -> tuple[Any, Callable[[_Storage], int]]:
    """Three small pickles, the tensors, the keys, and then for each key a count and numbers."""
    if _load(stream)[0] != _MAGIC:
        raise ValueError("it does not begin like a file of PyTorch")
    for _ in range(2):  # the version of the format and the sizes of numbers
        _load(stream)
    (found, seen), (keys, _) = _load(stream), _load(stream)
    if not isinstance(keys, list) or len(keys) > size or not set(keys) >= set(seen):
        raise ValueError("it does not list its numbers")
    starts = {}
    for key in keys:
        storage = seen.get(str(key))
        count = int.from_bytes(stream.read(8), "little")
        if storage is None or count != storage.count:
            raise ValueError("it has other numbers than its tensors need")
        starts[storage.key] = stream.tell()
        stream.seek(count * _bytes(storage), io.SEEK_CUR)
    return found, lambda storage: starts[storage.key]


def _load(stream: BinaryIO) -> tuple[Any, dict[str, _Storage]]:
    """What a pickle describes, and the numbers it asks for."""
    start = stream.tell()
    for opcode, argument, _ in pickletools.genops(stream):
        # The unpickler would make room for as many objects as this number says.
        if "PUT" in opcode.name and isinstance(argument, int) and argument > _MEMORY:
            raise pickle.UnpicklingError("it asks for a huge memory")
    stream.seek(start)
    reader = _Unpickler(stream)
    return reader.load(), reader.seen


def _bytes(storage: _Storage) -> int:
    return next(size for code, size in _STORAGES.values() if code == storage.code)


def _stored(memory: NDArray[np.uint8], tensor: _Tensor, start: int) -> Stored:
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = tensor.offset + sum((size - 1) * step for size, step in steps if size)
    if math.prod(tensor.shape) > tensor.storage.count:
        raise ValueError("a tensor is larger than its numbers")
    if math.prod(tensor.shape) and last >= tensor.storage.count:
        raise ValueError("a tensor reaches beyond its numbers")
    whole = stored(memory, tensor.storage.code, (tensor.storage.count,), start)

    def numbers() -> NDArray[Any]:
        flat = whole.read()[tensor.offset :]
        steps = tuple(step * flat.itemsize for step in tensor.strides)
        return np.lib.stride_tricks.as_strided(flat, tensor.shape, steps, writeable=False)

    return Stored(tensor.shape, numbers)
