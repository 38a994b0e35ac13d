"""Files of machine code: checked for damage, in a directory that only this user can write.

Machine code from a cache is unpickled and executed, so anyone who can write it can do what this
user can do. There are two guards:

- *Other users*: the directory and its files must belong to us and must not be writable by
  anybody else, and the directory must not be a link. One that fails is not used. The owner of
  a file is checked after it is opened, so swapping directories in between does not help.
- *Damage* (a full disk, a crash, a flipped bit): a file begins with a digest of its name and of
  the rest, which is checked before anything else is done with it. A damaged file counts as
  missing, and is written again.

Anyone who can write as this user can also write digests, and needs no cache to do harm.

Machine code that comes with a wheel lies next to the sources it was made from. Whoever owns these
may have written it, nobody else: files of other owners, or that others may write, are not used.

Each version of the sources has a directory of its own, whose time of modification is set whenever
it is used. Directories that were not used for a month are removed when code is stored.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

_DIGEST_BYTES = 32

_NAME = re.compile(r"[0-9a-f]{16}")  # of the directory of one version of the sources
_UNFINISHED = re.compile(r".+\.[0-9a-f]{16}")
_ABANDONED = 86400.0  # seconds after which an unfinished file is taken to be abandoned
_UNUSED = 30 * 86400.0  # seconds after which code of other sources is removed


def private_directory(name: str) -> Path | None:
    """The first place for a cache of this name that only this user can write, if there is one."""
    for place in places():
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            if _make_private(place) and _make_private(place / name):
                os.utime(place / name)  # it is in use: see `tidy`
                return place / name
    return None


def places() -> Iterator[Path]:
    """Where caches are looked for, in this order."""
    for root in (os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"), "~/.cache"):
        with suppress(RuntimeError):  # there is no home directory
            if root:
                yield Path(root).expanduser().absolute() / "parkade"
    with suppress(OSError):  # there is no temporary directory
        user = os.geteuid() if hasattr(os, "geteuid") else "user"
        yield Path(tempfile.gettempdir()).absolute() / f"parkade-{user}"


def _make_private(path: Path) -> bool:
    """Make a directory if it is missing; return whether only this user can write it."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    return _is_ours(path.lstat(), stat.S_ISDIR) and os.access(path, os.W_OK)


def read(path: Path, owner: int | None = None) -> memoryview | None:
    """The content of a file, or None if it is missing, damaged or not ours (or the owner's)."""
    try:
        with path.open("rb") as file:
            if not _is_ours(os.fstat(file.fileno()), stat.S_ISREG, owner):
                return None
            content = memoryview(file.read())
    except OSError:
        return None
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return payload if digest == _digest(path.name, payload) else None


def write(path: Path, payload: bytes) -> None:
    """Write a file as a whole or not at all, even if other processes write it at the same time.

    Nothing is flushed to the disk: what a crash leaves behind counts as damaged when it is read.
    """
    temporary = f"{path}.{secrets.token_hex(8)}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(_digest(path.name, payload))
            file.write(payload)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)  # a file cannot replace it
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def tidy(directory: Path) -> None:
    """Remove unfinished files here, and beside it the code of sources that nobody uses any more."""
    remove_abandoned(directory, _UNFINISHED)
    for other in _within(directory.parent, _NAME):
        with suppress(OSError):  # another process removed it
            if other != directory and _is_unused(other):
                shutil.rmtree(other)


def remove_abandoned(directory: Path, names: re.Pattern[str]) -> None:
    """Remove files and directories of these names that nobody has written to for a day."""
    for path in _within(directory, names):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED:
                _remove(path)


def _within(directory: Path, names: re.Pattern[str]) -> list[Path]:
    with suppress(OSError):
        return [path for path in directory.iterdir() if names.fullmatch(path.name)]
    return []


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _is_unused(directory: Path) -> bool:
    """Whether a directory is ours, and nobody used it, or read one of its files, for a month."""
    own, now = directory.lstat(), time.time()
    if not _is_ours(own, stat.S_ISDIR) or now - own.st_mtime < _UNUSED:
        return False
    files = (path.lstat() for path in directory.iterdir())
    return all(now - max(file.st_atime, file.st_mtime) > _UNUSED for file in files)


def _digest(name: str, payload: bytes | memoryview) -> bytes:
    digest = blake2b(name.encode() + b"\0", digest_size=_DIGEST_BYTES)
    digest.update(payload)
    return digest.digest()


def is_safe(directory: Path, owner: int) -> bool:
    """Whether only this owner can write a directory, and it is not a link."""
    with suppress(OSError):
        return _is_ours(directory.lstat(), stat.S_ISDIR, owner)
    return False


def _is_ours(status: os.stat_result, kind: Callable[[int], bool], owner: int | None = None) -> bool:
    """Whether this is of the right kind, and only this user, or the owner, can write it."""
    if not kind(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # Windows, where the profile of a user is private
        return True
    user = os.geteuid() if owner is None else owner
    return status.st_uid == user and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
