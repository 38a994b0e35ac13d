"""What `os.fork` must not copy half done.

A forked child has one thread, and a copy of everything else: locks that other threads held
are never released there, and what they guard stays as it was. So a fork waits until nobody
holds one of our locks, and what belongs to threads is dropped in the child.
"""

from __future__ import annotations

# What has hooks of its own is imported first: the hooks before a fork run in reverse order,
# and while ours wait, none of these locks may be held.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
from collections.abc import Callable
from typing import Protocol


class Lock(Protocol):
    """A lock that its owner may take again, or else a fork in the owner would wait for ever."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; say whether it is taken."""

    def release(self) -> None:
        """Give it back."""


_locks: list[Lock] = []
_taken: list[Lock] = []


def wait_for(lock: Lock) -> None:
    """Let every fork wait until nobody holds `lock`."""
    _locks.append(lock)


def in_child(renew: Callable[[], None]) -> None:
    """Call `renew` in every forked child."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=renew)


def _take_all() -> None:
    # Never wait with a lock in hand: whoever holds another one may want this one first.
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
    except BaseException:  # Ctrl-C, which Python only prints here
        _release(taken)
        raise
    _taken[:] = taken


def _release(locks: list[Lock]) -> None:
    while locks:
        locks.pop().release()


def _release_all() -> None:
    taken = list(_taken)
    _taken.clear()  # first: with the last lock gone, another thread may fork
    _release(taken)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_release_all)
