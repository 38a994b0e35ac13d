"""Look for garbage less often, in processes that parkade starts.

A command imports hundreds of modules: hundreds of thousands of objects, and hardly any garbage.
Python looks at all of them again and again, and once more at the end: a quarter of the time of a
short command.
"""

from __future__ import annotations

import atexit
import gc

_NEW = 50_000  # objects between two searches; Python's default is 700, or 2000 since 3.13


def look_less_often() -> None:
    """Wait for more garbage before looking for it; at exit, leave it to the system."""
    gc.set_threshold(_NEW, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # now, so that it is the last thing done
