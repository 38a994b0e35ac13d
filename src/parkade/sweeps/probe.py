"""Files without a checksum, which an older parkade wrote, are opened by other processes first.

If a bit of such a file has flipped, the netCDF library may crash or never come back.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 60
"""Seconds that a file may take."""

# Forks for every file: a crash must not hit the next one. It imports little, to start fast.
_CHILD = """
import os, signal, sys
import netCDF4

def read(data):
    with netCDF4.Dataset("batch.nc", memory=data) as file:
        for part in (file, *file.variables.values()):
            for name in part.ncattrs():
                part.getncattr(name)
        for variable in file.variables.values():
            if variable.size > len(data):
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
    """Those files that the netCDF library does not read, or does not survive."""
    if not paths or not hasattr(os, "fork"):
        return set()
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(PATIENCE)],
        input=b"\0".join(os.fsencode(path) for path in paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    # Fewer answers than files, if it was stopped: nothing is known about the rest.
    return {path for path, status in zip(paths, child.stdout.split(), strict=False) if int(status)}
