"""The file of one batch of an ensemble: arrays in netCDF-4, with recipe and versions.

The last line, after the netCDF data, has a checksum of all bytes before it: see `checksum`. The
netCDF library does not read it. It is checked before the library opens the file, because the
library may crash on a damaged one.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base import check, forks
from parkade.base.errors import DamagedError, StoreError
from parkade.sweeps.measures import Variable
from parkade.sweeps.recipe import Recipe
from parkade.sweeps.versions import versions

# The netCDF library is not thread-safe.
_LOCK = threading.RLock()
forks.wait_for(_LOCK)

_NOTE = b"checksum of all bytes before the last line of this file"
_NOTES = (_NOTE, b"CRC-32 of all bytes before the last line of this file")

_ROWS, _WORDS = 64, 509  # of a block; rows are no power of two, so that memory pages do not fit

_AHEAD = 2  # files read before they are needed

_TRUST = Variable((), "f8", "time until which a run can be trusted")


def variables(recipe: Recipe) -> dict[str, Variable]:
    """The variables in a file, for each simulation."""
    return {**recipe.variables, "trusted_until": _TRUST}


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
        for name, variable in variables(recipe).items():
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
        file.setncattr_string("checksum", _NOTE.decode())
        encoded: memoryview = file.close()
    return encoded, _seal(b"sums1", encoded)


def checksum(data: memoryview) -> int:
    """The CRC-32 of sums of 64-bit words: three times as fast as that of all bytes.

    Words are added column by column, modulo 2⁶⁴, in blocks of 64 rows of 509. A flipped bit changes
    one sum, and a lost, shifted or swapped page nearly always changes some. What does not fill a
    block counts byte by byte.
    """
    words = np.frombuffer(data, "<u8", len(data) // 8)
    blocks = len(words) // (_ROWS * _WORDS)
    whole = words[: blocks * _ROWS * _WORDS].reshape(blocks, _ROWS, _WORDS)
    sums = np.add.reduce(whole, axis=1, dtype="<u8")
    return zlib.crc32(data[whole.nbytes :], zlib.crc32(sums))


_CHECKSUMS: dict[bytes, Callable[[memoryview], int]] = {b"sums1": checksum, b"crc32": zlib.crc32}
"""By the name in the last line; files of older versions have a CRC-32."""


def _seal(kind: bytes, data: memoryview) -> bytes:
    """The last line of a file."""
    return b"\nparkade %s %08x\n" % (kind, _CHECKSUMS[kind](data))


_LENGTH = len(_seal(b"sums1", memoryview(b"")))


def _kind(line: bytes) -> bytes | None:
    """The kind of checksum that a last line has; None if it is no such line."""
    start, _, rest = line.partition(b" ")
    kind = rest[:5]
    return kind if start == b"\nparkade" and kind in _CHECKSUMS else None


def is_old(path: Path) -> bool:
    """Whether a batch file is from an older parkade, without a checksum."""
    try:
        with path.open("rb") as file:
            file.seek(-min(path.stat().st_size, _LENGTH), os.SEEK_END)
            if _kind(file.read()):
                return False
            file.seek(0)
            return not _has_note(file.read())
    except OSError:  # `load` reports it
        return False


class Contents(NamedTuple):
    """The bytes of a file, and whether they have a checksum (old files have none)."""

    data: bytes
    sealed: bool


def load(path: Path) -> Contents:
    """Read a batch file and verify its checksum."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    rest = memoryview(data)[:-_LENGTH]
    last = data[len(rest) :]
    kind = _kind(last)
    if kind is None and not _has_note(data):
        return Contents(data, False)
    if kind is None or last != _seal(kind, rest):
        raise DamagedError("its checksum does not match")
    return Contents(data, True)


def _has_note(data: bytes) -> bool:
    """Whether a file says that it has a checksum."""
    return any(note in data for note in _NOTES)


def load_ahead(files: Iterable[Path]) -> Iterator[Callable[[], Contents]]:
    """For each file, a function that returns its contents.

    The next files are read and their checksums verified while the last one is decoded: on two
    threads, since one may wait for the disk.
    """
    with ThreadPoolExecutor(_AHEAD, thread_name_prefix="parkade-store") as readers:
        ahead: deque[Future[Contents]] = deque()
        for file in files:
            ahead.append(readers.submit(load, file))
            if len(ahead) > _AHEAD:
                yield ahead.popleft().result
        while ahead:
            yield ahead.popleft().result


def decode(
    recipe: Recipe, batch: int, contents: Contents, arrays: Mapping[str, NDArray[Any]]
) -> str:
    """Read the runs of a batch into `arrays`; return the versions it was made with."""
    import netCDF4

    try:
        with _LOCK, netCDF4.Dataset("batch.nc", memory=contents.data) as file:
            file.set_auto_mask(False)
            if not contents.sealed and "checksum" in file.ncattrs():
                raise ValueError("its checksum is missing")
            different = _differences(file, recipe, batch)
            for name, array in arrays.items() if not different else ():
                source = file[name]
                if source.shape != array.shape or source.dtype != variables(recipe)[name].dtype:
                    raise ValueError(f"the shape or type of {name} is wrong")
                if source.chunking() != "contiguous":  # a chunk may unpack to gigabytes
                    raise ValueError(f"{name} is compressed")
                array[:] = source[:]
            made: str = file.versions
            if not isinstance(json.loads(made), dict):
                raise ValueError("its versions are missing")
    except MemoryError:
        raise StoreError("there is not enough memory to read it") from None
    except Exception as error:  # the library raises anything on damaged bytes
        raise DamagedError(check.reason(error)) from None
    if different:
        raise StoreError(
            f"it belongs to another ensemble: {'; '.join(different)}; move it elsewhere"
        )
    return made


def _differences(file: Any, recipe: Recipe, batch: int) -> list[str]:
    """How the file differs from this ensemble and batch."""
    different = []
    if file.recipe != recipe.to_json():  # nearly always equal, and fast to compare
        different = Recipe.from_json(file.recipe).differences(recipe)
    if file.batch != batch:
        different.append(f"batch number ({file.batch} in the store, {batch} requested)")
    return different
