"""How much memory is left, for this machine and for the container that the process runs in."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_MOUNTS = Path("/sys/fs/cgroup")
_UNLIMITED = 2**60  # bytes; version 1 writes a number of this order for no limit


class _Group(NamedTuple):
    """A control group: its files, and the entry of memory.stat that counts unused file pages."""

    limit: Path
    used: Path
    stat: Path
    cached: str


def available_memory() -> float:
    """Bytes of memory available for a new array (infinite if unknown)."""
    return min([_of_machine(), *map(_of_group, _groups())])


def _of_machine() -> float:
    with suppress(OSError, StopIteration):
        return 1024.0 * _entry(Path("/proc/meminfo"), "MemAvailable:")
    return float("inf")


def _of_group(group: _Group) -> float:
    """What a control group may still use; pages of files that nobody uses count as free."""
    with suppress(OSError, StopIteration, ValueError):
        spare = _limit(group) - int(group.used.read_text(encoding="ascii"))
        return max(0.0, float(spare + _entry(group.stat, group.cached)))
    return float("inf")


def _limit(group: _Group) -> int:
    """The limit of a control group in bytes; a ValueError if it has none."""
    return int(group.limit.read_text(encoding="ascii"))  # "max" means none


def _entry(file: Path, name: str) -> int:
    """The number after a name in a file with one entry per line."""
    lines = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    return next(int(words[1]) for words in lines if words[0] == name)


@functools.cache
def _groups() -> tuple[_Group, ...]:
    """The control groups of this process and their parents, of cgroup v1 and v2, with a limit."""
    return tuple(group for place in _places() if _is_limited(group := _group(*place)))


def _is_limited(group: _Group) -> bool:
    with suppress(OSError, ValueError):
        return _limit(group) < _UNLIMITED
    return False


def _places() -> Iterator[tuple[bool, Path]]:
    """For each control group: whether it is of version 2, and its directory.

    A container may see the path of its group on the host, but have the group itself mounted as
    the root; so the root and each part of the path are looked at.
    """
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            second = not controllers
            if not second and "memory" not in controllers.split(","):
                continue
            inside = PurePosixPath(path.lstrip("/"))
            roots = (_MOUNTS, _MOUNTS / "unified") if second else (_MOUNTS / "memory",)
            for root in roots:
                for part in (inside, *inside.parents):
                    yield second, root / part


def _group(second: bool, place: Path) -> _Group:
    names = ("memory.max", "memory.current") if second else ("limit_in_bytes", "usage_in_bytes")
    limit, used = (place / (name if second else f"memory.{name}") for name in names)
    cached = "inactive_file" if second else "total_inactive_file"
    return _Group(limit, used, place / "memory.stat", cached)
