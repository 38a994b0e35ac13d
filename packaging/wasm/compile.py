"""Compile one engine to an object file: `compile.py METHOD D FILE`. Prints what it exports.

It is a process of its own, because it can run nothing that it compiles.
"""

from __future__ import annotations

import sys
from pathlib import Path

import target

context = target.install()  # before the engine compiles anything

from entries import entries  # noqa: E402

if __name__ == "__main__":
    method, d, file = sys.argv[1:]
    functions = entries(method, int(d))
    Path(file).write_bytes(target.compile_all(context, functions))
    print(*functions)
