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
from collections.abc import Mapping
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from parkade.base import check

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


def read(file: BinaryIO, what: str) -> tuple[dict[str, NDArray[Any]], bool]:
    """The arrays in a file, and whether it has a checksum (which must match).

    Files written by `numpy.savez` have none. `what` is the file's name for messages.
    """
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        if archive.comment and archive.comment != _checksum(archive):
            raise ValueError("its checksum does not match")
        size = sum(member.file_size for member in archive.infolist())
        check.fits_in_memory(size, what, "it may be damaged")
        for member in archive.infolist():
            with archive.open(member) as stream:
                # Small members in one read: many short reads of an archive are slow.
                source = io.BytesIO(stream.read()) if member.file_size <= _CHUNK else stream
                arrays[member.filename.removesuffix(".npy")] = read_npy(source, member.file_size)
        return arrays, bool(archive.comment)


def _checksum(archive: zipfile.ZipFile) -> bytes:
    entries = [(member.filename, member.file_size, member.CRC) for member in archive.infolist()]
    return b"parkade crc32 %08x" % zlib.crc32(repr(entries).encode())


def read_npy(stream: IO[bytes], size: int) -> NDArray[Any]:
    """The array in a .npy stream of exactly `size` bytes."""
    shape, transposed, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"it contains {dtype.name}, not numbers or text")
    # Before any allocation: a damaged header may claim any shape.
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError(f"it is too short or too long for an array of shape {shape}")
    data = np.empty(size - stream.tell(), np.uint8)
    for start in range(0, len(data), _CHUNK):
        part = data[start : start + _CHUNK]
        part[:] = np.frombuffer(stream.read(len(part)), np.uint8)
    if stream.read(1):  # reading to the end makes zipfile check the CRC-32
        raise ValueError("it is longer than its header says")
    return data.view(dtype).reshape(shape, order="F" if transposed else "C")
