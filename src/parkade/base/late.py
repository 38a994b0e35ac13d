"""Methods implemented in a higher folder; `parkade/__init__.py` lists where.

Users expect `merge_tree`, `save` and `show` as methods of a run. The module of runs does not
import their implementations, so that imports go one way.
"""

from __future__ import annotations

import sys
from importlib import import_module


def call(method: str, *arguments: object, **options: object) -> object:
    """Call the function that implements a method."""
    home, _, name = sys.modules["parkade"]._METHODS[method].rpartition(".")
    return getattr(import_module(home), name)(*arguments, **options)
