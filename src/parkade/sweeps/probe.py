"""Test files without a checksum, from an older parkade, in separate processes.

On a damaged file the netCDF library may crash or hang.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 60
"""Time limit per file, in seconds."""

# Fork for every file, so that a crash does not affect the next one. Few imports, to start fast.
_CHILD = """
import os, signal, sys
import netCDF4

def read(data):
    with netCDF4.Dataset("batch.nc", memory=data) as file:
        for part in (file, *file.variables.values()):
            for name in part.ncattrs():
                part.getncattr(name)
        for variable in file.variables.values():
            if variable.size > len(data) or variable.chunking() != "contiguous":
                raise ValueError
            variable[:]

for path in sys.stdin.buffer.read().split(b"\\0"):
    with open(path, "rb") as file:
        data = file.read()
    child = os.fork()
    if child == 0:
        signal.alarm(int(sys.argv[1]))
        try:
            read(data)
        except BaseException:
            os._exit(1)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def unreadable(paths: Sequence[Path]) -> set[Path]:
    """The files that the netCDF library cannot read without an error or a crash."""
    if not paths or not hasattr(os, "fork"):
        return set()
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(PATIENCE)],
        input=b"\0".join(os.fsencode(path) for path in paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    # If the child was stopped, there are fewer answers than files: the rest is unknown.
    return {path for path, status in zip(paths, child.stdout.split(), strict=False) if int(status)}
