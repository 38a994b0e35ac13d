"""Writing files so that they are whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from parkade import check
from parkade.errors import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that appears at `path` only when the block ends without an error."""
    target = Path(path)
    writable(target)
    # Not mkstemp, which makes private files: a result is not.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def writable(path: Path) -> None:
    """Raise, before any work is done, if a file could not be written at `path`."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a directory; give a file name")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the directory {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {path}: the directory {path.parent} is not writable")


def directory(path: str | os.PathLike[str]) -> Path:
    """The directory `path`, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot make the directory {check.brief(str(folder))}: {reason}; give another one"
        ) from None
    return folder
