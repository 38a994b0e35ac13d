"""Make parkade's locks and threads safe with `os.fork`.

A forked child has one thread and a copy of everything else. A lock that another thread held is
never released there, and the data it guards may be inconsistent. So a fork waits until none of
our locks is held, and the child drops all thread state.
"""

from __future__ import annotations

# Modules with their own fork hooks are imported first: the hooks before a fork run in reverse
# order, and none of these modules' locks may be held while our hook waits.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
from collections.abc import Callable
from typing import Protocol


class Lock(Protocol):
    """A reentrant lock: with any other, a fork by the owner would deadlock."""

    def acquire(self, blocking: bool = True) -> bool:
        """Acquire the lock; return whether that succeeded."""

    def release(self) -> None:
        """Release the lock, which is held."""


_locks: list[Lock] = []
_taken: list[Lock] = []


def wait_for(lock: Lock) -> None:
    """Make every fork wait until `lock` is free."""
    _locks.append(lock)


def in_child(renew: Callable[[], None]) -> None:
    """Call `renew` in every forked child."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=renew)


def _take_all() -> None:
    # Never wait while holding a lock: the owner of the next one may be waiting for ours.
    order = list(_locks)
    taken: list[Lock] = []
    try:
        while len(taken) < len(order):
            lock = order[len(taken)]
            if lock.acquire(blocking=not taken):
                taken.append(lock)
            else:
                _release(taken)
                order.remove(lock)
                order.insert(0, lock)
    except BaseException:  # Ctrl-C: Python only prints it here
        _release(taken)
        raise
    _taken[:] = taken


def _release(locks: list[Lock]) -> None:
    while locks:
        locks.pop().release()


def _release_all() -> None:
    taken = list(_taken)
    _taken.clear()  # first: after the last release another thread may fork
    _release(taken)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_release_all)
