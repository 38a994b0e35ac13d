"""Arrays in .npy and .npz files, with checksums that detect damage.

A .npz file is a zip archive. Its directory has the CRC-32 of every array, which is checked
when the array is read. The comment at its end has the CRC-32 of the directory, which detects
swapped arrays as well and costs nothing to check.

Damaged files raise errors of any type here: see `parkade.base.files.reading`.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from parkade.base import check, unzip

Accept = Callable[[np.dtype[Any], tuple[int, ...]], None]

_CHUNK = 2**18  # bytes per read
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def write(file: BinaryIO, arrays: Mapping[str, Any]) -> None:
    """Write arrays as `numpy.savez` does, plus the checksum."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        archive.comment = _checksum(archive)


class Archive:
    """The arrays in an open .npz file; `what` is its name for messages.

    If it has a checksum, that must match; files written by `numpy.savez` have none.
    """

    def __init__(self, file: BinaryIO, what: str) -> None:
        self._zip = unzip.opened(file, what)
        size = sum(member.file_size for member in self._zip.infolist())
        check.fits_in_memory(size, what, "it may be damaged")
        if self._zip.comment and self._zip.comment != _checksum(self._zip):
            raise ValueError("its checksum does not match")
        self._members = {m.filename.removesuffix(".npy"): m for m in self._zip.infolist()}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str, accept: Accept) -> NDArray[Any]:
        """One array; `accept` raises if its type or shape is wrong, before it is unpacked."""
        member = self._members[name]
        with self._zip.open(member) as stream:
            return read_npy(stream, member.file_size, accept)


def _checksum(archive: zipfile.ZipFile) -> bytes:
    entries = [(member.filename, member.file_size, member.CRC) for member in archive.infolist()]
    return b"parkade crc32 %08x" % zlib.crc32(repr(entries).encode())


def read_npy(stream: IO[bytes], size: int, accept: Accept | None = None) -> NDArray[Any]:
    """The array in a .npy stream of exactly `size` bytes; for `accept` see `Archive.read`."""
    # The first piece has the whole header. Small members are read at once, which is faster.
    start = io.BytesIO(stream.read(min(size, _CHUNK)))
    shape, transposed, dtype = _HEADERS[np.lib.format.read_magic(start)](start)
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"it contains {dtype.name}, not numbers or text")
    # Before any allocation: a damaged header may claim any shape.
    rest = size - start.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != rest:
        raise ValueError(f"it is too short or too long for an array of shape {shape}")
    if accept is not None:
        accept(dtype, shape)
    data = np.empty(rest, np.uint8)
    place, piece = 0, start.read()
    while piece:
        data[place : place + len(piece)] = np.frombuffer(piece, np.uint8)
        place += len(piece)
        piece = stream.read(min(rest - place, _CHUNK))
    if place < rest:
        raise ValueError("it is shorter than its header says")
    if stream.read(1):  # reading to the end makes zipfile check the CRC-32
        raise ValueError("it is longer than its header says")
    return data.view(dtype).reshape(shape, order="F" if transposed else "C")
