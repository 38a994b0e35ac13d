"""The software versions that the bits of a batch depend on, and whether a store mixes them."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

_UNKNOWN = "unknown"
_PRODUCTS = "numpy._core", "_multiarray_umath"  # the module that calls BLAS in NumPy
_COMPILED_PRODUCTS = "scipy.linalg", "cython_blas"  # and for Numba's machine code
_DGEMM = [a + "dgemm" + b for a in ("", "scipy_") for b in ("_", "", "_64_", "64_")]  # as exported


def versions() -> dict[str, str]:
    """Versions of the software that determines the bits of a result, and its choice of code."""
    from parkade import __version__
    from parkade.engine.compile.jit import made_with

    own = {"parkade": __version__, "python": platform.python_version()}
    return {**own, **_of_packages(), **made_with()}


@functools.cache
def _of_packages() -> dict[str, str]:
    blas = {"numpy_blas": _blas(*_PRODUCTS), "scipy_blas": _blas(*_COMPILED_PRODUCTS)}
    return {**{name: metadata.version(name) for name in ("numpy", "scipy")}, **blas}


def _blas(package: str, module: str) -> str:
    """The BLAS library that a module calls, with its version and processor architecture.

    NumPy and SciPy may each contain a copy, of different versions.
    """
    from threadpoolctl import threadpool_info

    called = _product(_load(package, module))
    entries = ("internal_api", "version", "architecture")
    names = {
        " ".join(str(library[key]) for key in entries if library.get(key))
        for library in threadpool_info()
        if library["user_api"] == "blas" and _is_called(Path(library["filepath"]), called, package)
    }
    return ", ".join(sorted(names)) or _UNKNOWN


def _is_called(library: Path, called: int | None, package: str) -> bool:
    """Whether a library has the function at the address `called`, or belongs to the package.

    The package decides if the address is None, as on Windows; copies are in scipy.libs or
    scipy/.dylibs.
    """
    if called is not None:
        return called == _product(ctypes.CDLL(str(library)))
    top = package.partition(".")[0]
    return any(folder.partition(".")[0] == top for folder in library.parts[-3:-1])


def _load(package: str, module: str) -> ctypes.CDLL:
    """Load the file of a compiled module, and so the libraries that it is linked with.

    Importing SciPy's module would take longer than a short sweep; loading its file takes 2 ms.
    """
    top, *inner = package.split(".")
    spec = importlib.util.find_spec(top)
    places = [Path(place, *inner) for place in (spec and spec.submodule_search_locations) or ()]
    file = PathFinder.find_spec(module, [str(place) for place in places])
    if file is not None and file.origin:
        with suppress(OSError):  # on Windows, where the package says where its libraries are
            return ctypes.CDLL(file.origin)
    return ctypes.CDLL(importlib.import_module(f"{package}.{module}").__file__)


def _product(library: ctypes.CDLL) -> int | None:
    """The address of dgemm in a library, or in those that it is linked with."""
    for name in _DGEMM:
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


def distinct(texts: Iterable[str]) -> list[dict[str, str]]:
    """The different versions, from JSON objects; in a fixed order."""
    return [json.loads(text) for text in sorted(set(texts))]


def mixture(entries: Sequence[dict[str, str]]) -> str | None:
    """A sentence on how the versions of batches differ; None if they do not."""
    several = []
    for name in {name: None for entry in entries for name in entry}:
        values = sorted({str(entry.get(name, _UNKNOWN)) for entry in entries})
        if len(values) > 1:
            several.append(f"{name} ({', '.join(values)})")
    if not several:
        return None
    return (
        "the batches were made with different versions and may differ in the last bits: "
        + "; ".join(several)
    )
