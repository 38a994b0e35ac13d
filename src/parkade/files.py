"""Writing files so that they are whole or not there, and reading them whatever they hold."""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

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
    except OSError as error:
        raise InputError(
            f"cannot make the directory {folder}: {error.strerror or error}; give another one"
        ) from None
    return folder


@contextmanager
def reading(path: Path, what: str, remedy: str = "", prefix: str = "") -> Iterator[None]:
    """Say in one sentence why `path`, which should be `what`, cannot be read."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{prefix}there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{prefix}cannot read {path}: {error.strerror or error}") from None
    except MemoryError:
        raise InputError(f"{prefix}there is not enough memory to read {path}") from None
    except Exception as error:  # from a parser that meets damaged bytes: it may be anything
        raise InputError(
            f"{prefix}{path} is not {what}, or it is truncated or damaged "
            f"({check.reason(error)}){remedy}"
        ) from None


def to_json(data: Mapping[str, Any], indent: int | None = None) -> bytes:
    """An object as JSON, with the CRC-32 of what it is without."""
    text = json.dumps(data, ensure_ascii=False)
    sealed = {**json.loads(text), "crc32": checksum(text.encode())}
    return json.dumps(sealed, ensure_ascii=False, indent=indent).encode()


def from_json(text: bytes) -> tuple[dict[str, Any], bool]:
    """An object that `to_json` wrote, and whether it has a checksum, which must match."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is not an object")
    found = data.pop("crc32", None)
    if found not in (None, checksum(json.dumps(data, ensure_ascii=False).encode())):
        raise ValueError("its checksum does not match")
    return data, found is not None


def checksum(data: bytes) -> str:
    """The CRC-32 of bytes, as text."""
    return f"{zlib.crc32(data):08x}"
