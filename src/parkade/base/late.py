"""Methods whose work is done in a folder above: `parkade/__init__.py` says where, by name.

A run has `merge_tree` and `show` because people look for them there. The folder of runs does
not import those that do the work, so that imports go one way.
"""

from __future__ import annotations

METHODS: dict[str, str] = {}
"""The full name of the function that does the work of a method."""


def call(method: str, *arguments: object, **options: object) -> object:
    """Do the work of a method."""
    from importlib import import_module

    home, _, name = METHODS[method].rpartition(".")
    return getattr(import_module(home), name)(*arguments, **options)
