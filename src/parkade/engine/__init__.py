"""Everything compiled. Nothing above this package knows about Numba."""

from pathlib import Path


def _drop_stale_cache() -> None:
    """Delete cached machine code that is older than any source file of the engine.

    Numba notices edits of the file a compiled function lives in, but not of the files of
    the functions it calls.
    """
    here = Path(__file__).parent
    newest = max(path.stat().st_mtime for path in here.glob("*.py"))
    for index in (here / "__pycache__").glob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


_drop_stale_cache()

from parkade.engine import explicit, implicit  # noqa: E402  after stale machine code is gone

METHODS = {"explicit": explicit, "implicit": implicit}
"""Integrators by name: modules with workspace, start, advance, interpolate and constants."""
