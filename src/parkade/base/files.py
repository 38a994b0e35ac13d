"""Atomic file writing, and clear errors when a file cannot be read or written."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from parkade.base import check
from parkade.base.errors import InputError

_UNFINISHED = re.compile(r"\..{,40}\.parkade-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}", re.DOTALL)
_ABANDONED = 86400.0  # seconds after which an unfinished file is abandoned, on any machine
_swept: set[Path] = set()


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, new: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that appears at `path` only when the block ends without an error.

    An `OSError` in the block gets the name of this file. If the file must be `new` and there is
    one when the block ends, that one stays, and a `FileExistsError` is raised.
    """
    target = Path(path)
    writable(target)
    folder = target.parent.resolve()
    if folder not in _swept:  # once: a store may have many files
        _swept.add(folder)
        sweep(folder)
    # Not mkstemp: its files are private, results are not.
    mark = f"parkade-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    temporary = target.with_name(f".{target.name[:40]}.{mark}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if new:
            _put_new(temporary, target)
        else:
            temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise


def _put_new(temporary: Path, target: Path) -> None:
    """Move a file to a name that no file has: of several processes, one succeeds."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links; the file may be seen before it is complete
        with target.open("xb") as file:
            file.write(temporary.read_bytes())
    temporary.unlink()


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove files that a killed `atomic_write` left in a directory."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            made = _UNFINISHED.fullmatch(entry.name)
            if made is None:
                continue
            with suppress(OSError):  # another process removed it
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                # The process that made it has ended, or this can no longer matter.
                if age > _ABANDONED or (made[1] == _machine() and not _runs(int(made[2]))):
                    os.unlink(entry.path)


@functools.cache
def _machine() -> str:
    """An identifier of the scope in which process ids are unique: machine, boot, PID namespace."""
    parts = [platform.node()]
    with suppress(OSError):  # not on every system
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    """Whether a process with this id exists; True if that cannot be checked."""
    if os.name != "posix":  # on Windows, signal 0 is Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def writable(path: Path) -> None:
    """Raise if no file can be written at `path`. Call it before long computations."""
    try:
        os.fsencode(path)
        there = path.is_dir()
        if "\0" in str(path):
            raise ValueError("a file name cannot contain NUL")
    except (OSError, ValueError) as error:  # ValueError: an impossible name
        raise InputError(f"cannot write {_shown(path)}: {_reason(error)}") from None
    if there:
        raise InputError(f"cannot write {path}: it is a directory; give a file name")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the directory {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {path}: the directory {path.parent} is not writable")


def directory(path: str | os.PathLike[str]) -> Path:
    """The directory `path`, created if missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot make the directory {_shown(folder)}: {_reason(error)}; give another one"
        ) from None
    return folder


@contextmanager
def reading(path: Path, what: str, remedy: str = "", prefix: str = "") -> Iterator[None]:
    """Turn any error while reading `path` into a sentence; `what` is the expected kind of file."""
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
    except Exception as error:  # parsers raise anything on damaged bytes
        raise InputError(
            f"{prefix}{path} is not {what}, or it is truncated or damaged "
            f"({check.reason(error)}){remedy}"
        ) from None


def to_json(data: Mapping[str, Any], indent: int | None = None) -> bytes:
    """An object as JSON, with its CRC-32 as one more entry."""
    text = json.dumps(data, ensure_ascii=False)
    sealed = {**json.loads(text), "crc32": checksum(text.encode())}
    return json.dumps(sealed, ensure_ascii=False, indent=indent).encode()


def from_json(text: bytes) -> dict[str, Any]:
    """An object written by `to_json`; its checksum must match."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is not an object")
    if data.pop("crc32", None) != checksum(json.dumps(data, ensure_ascii=False).encode()):
        raise ValueError("its checksum does not match")
    return data


def checksum(data: bytes) -> str:
    """The CRC-32 of bytes, as text."""
    return f"{zlib.crc32(data):08x}"


def _shown(path: Path) -> str:
    return str(path) if str(path).isprintable() else repr(str(path))


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
