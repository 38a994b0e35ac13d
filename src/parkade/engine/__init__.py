"""Everything compiled. Nothing above this package knows about Numba."""

import hashlib
import importlib
import os
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numba


def _cache_directory() -> str:
    """A directory for machine code that belongs to exactly these sources.

    Numba notices edits of the file a compiled function lives in, but not of the files of
    the functions it calls; a name made from all of them cannot be stale.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    chosen = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    for root in (chosen, "~/.cache", tempfile.gettempdir()):
        directory = Path(root or "~/.cache").expanduser() / "parkade" / digest.hexdigest()[:16]
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return str(directory)
    return ""  # Numba then tries its own places


def _load(name: str) -> ModuleType:
    """Import a module of the engine; its functions are cached in our own directory."""
    config: Any = numba.config
    default = config.CACHE_DIR
    config.CACHE_DIR = _cache_directory()
    try:
        return importlib.import_module(f"parkade.engine.{name}")
    finally:
        config.CACHE_DIR = default


METHODS = {name: _load(name) for name in ("explicit", "implicit")}
"""Integrators by name: modules with workspace, start, advance, interpolate and constants."""

neighbours = _load("neighbours")

balls = _load("balls")

energy = _load("energy")
