"""Methods implemented in a higher folder; `parkade/__init__.py` lists where.

Users expect `merge_tree` and `show` as methods of a run. The folder of runs does not import
their implementations, so that imports go one way.
"""

from __future__ import annotations

METHODS: dict[str, str] = {}
"""The full name of the function that implements each method."""


def call(method: str, *arguments: object, **options: object) -> object:
    """Call the implementation of a method."""
    from importlib import import_module

    home, _, name = METHODS[method].rpartition(".")
    return getattr(import_module(home), name)(*arguments, **options)
