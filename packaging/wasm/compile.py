"""Compile one module to an object file: `compile.py NAME FILE`. Prints what it exports.

It has a process of its own, in which compiled code cannot run.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import target

context = target.install()  # before the engine compiles anything

if __name__ == "__main__":
    name, file = sys.argv[1:]
    if name[-1].isdigit():
        functions = import_module("entries").entries(name[:-1], int(name[-1]))
    elif name.endswith("field"):
        functions = import_module("fields").field_entries(name.removesuffix("field"))
    else:
        functions = import_module(name).entries()
    Path(file).write_bytes(target.compile_all(context, functions))
    print(*functions)
