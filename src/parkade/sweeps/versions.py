"""What the bits of a batch depend on besides its recipe, and whether that is mixed in a store."""

from __future__ import annotations

import functools
import platform
from collections.abc import Sequence
from importlib import metadata

_UNKNOWN = "unknown"


def versions() -> dict[str, str]:
    """Versions of the software that determines the bits of a result, and the code it chooses."""
    from parkade import __version__
    from parkade.engine.jit import made_with

    own = {"parkade": __version__, "python": platform.python_version()}
    return {**own, **_of_packages(), **made_with()}


@functools.cache
def _of_packages() -> dict[str, str]:
    return {**{name: metadata.version(name) for name in ("numpy", "scipy")}, "blas": _blas()}


def _blas() -> str:
    """The library for products of matrices, and the code it chooses by the processor.

    SciPy's wheel brings another copy for compiled code, which chooses by the same rules: to load
    it takes longer than a short sweep.
    """
    import numpy as np  # noqa: F401  loads the library that is looked for
    from threadpoolctl import threadpool_info

    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    first = [library for library in found if "numpy" in library["filepath"]] or found
    entries = ("internal_api", "version", "architecture")
    names = {" ".join(str(one[key]) for key in entries if one.get(key)) for one in first}
    return ", ".join(sorted(names)) or _UNKNOWN


def mixture(made: Sequence[dict[str, str]]) -> str | None:
    """A sentence on how batches were made differently; None if they were not."""
    several = []
    for name in {name: None for entry in made for name in entry}:
        values = sorted({str(entry.get(name, _UNKNOWN)) for entry in made})
        if len(values) > 1:
            several.append(f"{name} ({', '.join(values)})")
    if not several:
        return None
    return (
        "the batches were made with different versions and may differ in the last bits: "
        + "; ".join(several)
    )
