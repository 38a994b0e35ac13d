"""Memory of runs that have ended goes back to the system."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable

WAIT = 1.0
"""Seconds after a run before its memory is given back: another one may follow at once."""


class Tidier:
    """Gives memory back after runs, once nothing is under way.

    Python frees what is in cycles some time later, and the C library keeps what threads have freed:
    after some large runs, a gigabyte.

    Parameters
    ----------
    idle : function
        Whether nothing is under way.
    """

    def __init__(self, idle: Callable[[], bool]) -> None:
        self._idle = idle
        self._timer: threading.Timer | None = None

    def soon(self) -> None:
        """Plan to give memory back, since a run has ended."""
        self.stop()
        self._timer = threading.Timer(WAIT, self._tidy)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Drop the plan to give memory back."""
        if self._timer is not None:
            self._timer.cancel()

    def _tidy(self) -> None:
        if self._idle():
            give_back()


def give_back() -> None:
    """Free what nobody refers to, and return free memory to the system, where glibc can."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return  # another C library, which has its own way
