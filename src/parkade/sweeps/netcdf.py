"""The file of one batch of an ensemble: arrays in netCDF-4, with recipe and versions.

The last line, after the netCDF data, has a CRC-32 of all bytes before it. The netCDF library does
not read it. It is checked before the library opens the file, because the library may crash on a
damaged one.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check, forks
from parkade.base.errors import DamagedError, StoreError
from parkade.sweeps.recipe import Recipe
from parkade.sweeps.versions import versions

# The netCDF library is not thread-safe.
_LOCK = threading.RLock()
forks.wait_for(_LOCK)

_NOTE = "CRC-32 of all bytes before the last line of this file"

_AHEAD = 2  # files read before they are needed


def encode(recipe: Recipe, batch: int, arrays: dict[str, NDArray[Any]]) -> tuple[memoryview, bytes]:
    """The bytes of a batch file: the netCDF data, and the line with its checksum."""
    import netCDF4

    places = [recipe.place(index) for index in recipe.members(batch)]
    with _LOCK:
        file = netCDF4.Dataset("batch.nc", "w", memory=2**16)
        file.createDimension("simulation", len(places))
        for name in places[0]:
            column = np.array([place[name] for place in places])
            text = column.dtype.kind == "U"
            target = file.createVariable(name, str if text else column.dtype, ("simulation",))
            target[:] = column.astype(object) if text else column
        for name, variable in recipe.variables.items():
            for dim in variable.dims:
                if dim not in file.dimensions:
                    file.createDimension(dim, recipe.sizes[dim])
            dims = ("simulation", *variable.dims)
            target = file.createVariable(name, variable.dtype, dims, fill_value=False)
            target.setncattr_string("long_name", variable.about)
            target[:] = arrays[name]
        file.setncattr_string("recipe", recipe.to_json())
        file.setncattr_string("versions", json.dumps(versions()))
        file.setncattr("batch", batch)
        file.setncattr_string("checksum", _NOTE)
        encoded: memoryview = file.close()
    return encoded, _seal(encoded)


def _seal(data: bytes | memoryview) -> bytes:
    """The last line of a file with these data."""
    return b"\nparkade crc32 %08x\n" % zlib.crc32(data)


_LENGTH = len(_seal(b""))


def load(path: Path) -> bytes:
    """Read a batch file and verify its checksum."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    body = memoryview(data)[:-_LENGTH]
    if data[len(body) :] != _seal(body):
        raise DamagedError("its checksum does not match")
    return data


def load_ahead(files: Iterable[Path]) -> Iterator[Callable[[], bytes]]:
    """For each file, a function that returns its contents.

    While one file is decoded, two threads read the next files and verify their checksums; there
    are two because one may wait for the disk.
    """
    with ThreadPoolExecutor(_AHEAD, thread_name_prefix="parkade-store") as readers:
        ahead: deque[Future[bytes]] = deque()
        for file in files:
            ahead.append(readers.submit(load, file))
            if len(ahead) > _AHEAD:
                yield ahead.popleft().result
        while ahead:
            yield ahead.popleft().result


def decode(recipe: Recipe, batch: int, data: bytes, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Read the runs of a batch into `arrays`; return the versions that made it."""
    import netCDF4

    try:
        with _LOCK, netCDF4.Dataset("batch.nc", memory=data) as file:
            file.set_auto_mask(False)
            different = _differences(file, recipe, batch)
            for name, array in arrays.items() if not different else ():
                source = file[name]
                if source.shape != array.shape or source.dtype != recipe.variables[name].dtype:
                    raise ValueError(f"the shape or type of {name} is wrong")
                if source.chunking() != "contiguous":  # a chunk may unpack to gigabytes
                    raise ValueError(f"{name} is compressed")
                array[:] = source[:]
            stored: str = file.versions
            if not isinstance(json.loads(stored), dict):
                raise ValueError("its versions are missing")
    except MemoryError:
        raise StoreError("there is not enough memory to read it") from None
    except Exception as error:  # the library raises anything on damaged bytes
        raise DamagedError(check.reason(error)) from None
    if different:
        raise StoreError(
            f"it belongs to another ensemble: {'; '.join(different)}; move it elsewhere"
        )
    return stored


def _differences(file: Any, recipe: Recipe, batch: int) -> list[str]:
    """The differences between a file and this batch of this ensemble."""
    different = []
    if file.recipe != recipe.to_json():  # nearly always equal, and fast to compare
        different = Recipe.from_json(file.recipe).differences(recipe)
    if file.batch != batch:
        different.append(f"batch number ({file.batch} in the store, {batch} requested)")
    return different
