"""Compile one engine to an object file: `compile.py NAME FILE`. Prints what it exports.

It is a process of its own, because it can run nothing that it compiles.
"""

from __future__ import annotations

import sys
from pathlib import Path

import target

context = target.install()  # before the engine compiles anything

from entries import entries  # noqa: E402
from fields import field_entries  # noqa: E402

MODULES = {
    **{f"{method}{d}": (entries, method, d) for d in (2, 3) for method in ("explicit", "implicit")},
    **{
        f"{method}field": (field_entries, method)
        for method in ("explicit", "implicit", "splitting")
    },
}
"""By name, the function that gives what an engine exports, and its arguments."""

if __name__ == "__main__":
    name, file = sys.argv[1:]
    find, *given = MODULES[name]
    functions = find(*given)
    Path(file).write_bytes(target.compile_all(context, functions))
    print(*functions)
