"""`Recent`: a cache of results, for whoever asks for the same run again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

CAPACITY = 2**25
"""Bytes of all results together."""


class Recent:
    """Results of computations, up to a number of bytes; those asked for longest ago go first.

    A step back, a reload, a preset seen before: the page often asks for a run that it had. Threads
    that ask for the same result at the same time may compute it more than once.

    Parameters
    ----------
    capacity : int
        Bytes of all results together. A larger result is not stored.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._size = 0
        self._results: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """The result that has this key, which is computed unless it is there."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        result = compute()
        if len(result) > self._capacity:
            return result
        with self._lock:
            self._size += len(result) - len(self._results.pop(key, b""))
            self._results[key] = result
            while self._size > self._capacity:
                self._size -= len(self._results.popitem(last=False)[1])
        return result
