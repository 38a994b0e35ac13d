"""What the bits of a batch depend on besides its recipe, and whether that is mixed in a store."""

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
_PRODUCTS = "numpy._core", "_multiarray_umath"  # what multiplies matrices in NumPy
_COMPILED_PRODUCTS = "scipy.linalg", "cython_blas"  # and in machine code of Numba
_NAMES = [a + "dgemm" + b for a in ("", "scipy_") for b in ("_", "", "_64_", "64_")]  # as exported


def versions() -> dict[str, str]:
    """Versions of the software that determines the bits of a result, and the code it chooses."""
    from parkade import __version__
    from parkade.engine.compile.jit import made_with

    own = {"parkade": __version__, "python": platform.python_version()}
    return {**own, **_of_packages(), **made_with()}


@functools.cache
def _of_packages() -> dict[str, str]:
    blas = {"numpy_blas": _blas(*_PRODUCTS), "scipy_blas": _blas(*_COMPILED_PRODUCTS)}
    return {**{name: metadata.version(name) for name in ("numpy", "scipy")}, **blas}


def _blas(package: str, module: str) -> str:
    """The library that a module calls for products of matrices, and the code it chose.

    NumPy and SciPy may each bring a copy of their own, of different versions.
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
    """Whether a library has the function that is called, or else belongs to the package.

    Windows does not say what a module calls; copies are in scipy.libs or scipy/.dylibs.
    """
    if called is not None:
        return called == _product(ctypes.CDLL(str(library)))
    top = package.partition(".")[0]
    return any(folder.partition(".")[0] == top for folder in library.parts[-3:-1])


def _load(package: str, module: str) -> ctypes.CDLL:
    """Load the file of a compiled module, and so the libraries that it is linked with.

    To import SciPy's module takes longer than a short sweep; its file is loaded in 2 ms.
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
    """The address of the product of matrices in a library, or in those it is linked with."""
    for name in _NAMES:
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


def distinct(texts: Iterable[str]) -> list[dict[str, str]]:
    """The different versions, from JSON objects; in a fixed order."""
    return [json.loads(text) for text in sorted(set(texts))]


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
