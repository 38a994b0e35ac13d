"""Files of PyTorch, pickles old and new, without PyTorch."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import unzip
from parkade.trained.formats.pickles import Machine, Storage, Tensor
from parkade.trained.formats.source import Stored, check_shape, mapped, stored

_MAGIC = 0x1950A86A20F9469CFC6C  # begins an old file
_LARGEST = 10_000_000  # bytes of a pickle: names and shapes, no numbers


def read(path: Path) -> dict[str, Stored]:
    """The tensors of a file, by name; none is read yet."""
    memory = mapped(path)
    places: Callable[[Storage], int]
    if zipfile.is_zipfile(path):
        content, places = _read_zip(path, memory)
    else:
        content, places = _read_old(memory)
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict):
        raise ValueError("it is not a dictionary of tensors")
    return {
        str(name): _stored(memory, tensor, places(tensor.storage))
        for name, tensor in content.items()
        if isinstance(tensor, Tensor)
    }


def _read_zip(path: Path, memory: NDArray[np.uint8]) -> tuple[Any, Callable[[Storage], int]]:
    with path.open("rb") as file, unzip.opened(file, str(path)) as archive:
        inside = {member.filename: member for member in archive.infolist()}
        name = next((name for name in inside if name.endswith("/data.pkl")), "")
        if not name or inside[name].file_size > _LARGEST:
            raise ValueError("it has no list of tensors")
        with archive.open(name) as stream:
            content = Machine().load(io.BytesIO(stream.read(inside[name].file_size)))
    folder = name.removesuffix("data.pkl")

    def place(storage: Storage) -> int:
        member = inside[f"{folder}data/{storage.key}"]
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError("its numbers are compressed")
        head = memory[member.header_offset : member.header_offset + 30].tobytes()
        skip = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        if storage.size > member.file_size:
            raise ValueError("it has fewer numbers than its tensors need")
        return member.header_offset + 30 + skip

    return content, place


def _read_old(memory: NDArray[np.uint8]) -> tuple[Any, Callable[[Storage], int]]:
    """Three small pickles, the tensors, the keys, and then for each key a count and numbers."""
    stream = io.BytesIO(memory[: 2 * _LARGEST].tobytes())
    if Machine().load(stream) != _MAGIC:
        raise ValueError("it does not begin like a file of PyTorch")
    for _ in range(2):  # the version of the format and the sizes of numbers
        Machine().load(stream)
    machine = Machine()
    content, keys = machine.load(stream), Machine().load(stream)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ValueError("it does not list its numbers")
    starts: dict[str, int] = {}
    start = stream.tell()
    for key in keys:
        storage = machine.storages.get(key)
        count = int.from_bytes(memory[start : start + 8].tobytes(), "little")
        if storage is None or count != storage.count:
            raise ValueError("it has other numbers than its tensors need")
        starts[key] = start + 8
        start += 8 + storage.size
    return content, lambda storage: starts[storage.key]


def _stored(memory: NDArray[np.uint8], tensor: Tensor, start: int) -> Stored:
    check_shape(tensor.shape)
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

    return Stored(tensor.shape, numbers, whole.whole_numbers)
