"""Compile one module to an object file: `compile.py NAME FILE`. Prints what it exports.

It is a process of its own, because it can run nothing that it compiles.
"""

from __future__ import annotations

import sys
from pathlib import Path

import target

context = target.install()  # before the engine compiles anything

import entries  # noqa: E402
import scene  # noqa: E402

if __name__ == "__main__":
    name, file = sys.argv[1:]
    functions = scene.entries() if name == "scene" else entries.entries(name[:-1], int(name[-1]))
    Path(file).write_bytes(target.compile_all(context, functions))
    print(*functions)
