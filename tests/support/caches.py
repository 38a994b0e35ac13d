"""The cache of machine code, without some of it."""

from __future__ import annotations

import shutil

from parkade.engine.compile import jit


def copy_without(directory, *functions):
    """Copy the cache but for these functions; the variables of processes that use the copy.

    A test in which an engine is compiled need not compile all else a run needs as well.
    """
    result = jit.private_directory()
    copy = directory / "parkade" / result.name
    for folder in (directory, copy.parent, copy):
        folder.mkdir(mode=0o700, exist_ok=True)
    for path in result.glob("*.nbc"):
        if path.name.partition("-")[0] not in functions:
            shutil.copy(path, copy)
    return {"NUMBA_CACHE_DIR": str(directory)}
