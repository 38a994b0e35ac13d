"""Zip archives from anywhere: bounds on what they may unpack to."""

from __future__ import annotations

import io
import zipfile
from typing import BinaryIO

from parkade.base.errors import InputError

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others do not unpack in bounded pieces
_ALWAYS = 2**26  # bytes that any archive may unpack to
_RATIO = 50  # larger archives: times the size of the file


def opened(file: BinaryIO, what: str) -> zipfile.ZipFile:
    """The archive in a file, after a check of how much it unpacks to; `what` names it in messages.

    Read its members by `stream.read(size)`: without a size, Python unpacks up to 2 GB at once.
    """
    archive = zipfile.ZipFile(file)
    members = archive.infolist()
    if any(member.compress_type not in _METHODS for member in members):
        raise ValueError("it is compressed by another method than deflate")
    unpacked, size = sum(member.file_size for member in members), file.seek(0, io.SEEK_END)
    if unpacked > max(_ALWAYS, _RATIO * size):
        raise InputError(
            f"{what} has {size} bytes but unpacks to {unpacked / 2**30:.3g} GiB, more than "
            f"{_RATIO} times as many; if you trust it, pack it again without compression"
        )
    return archive
