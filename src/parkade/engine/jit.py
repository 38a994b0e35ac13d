"""`njit` with a cache of our own.

Numba's cache unpickles and runs whatever it finds, and ends the run if it cannot write; ours
does neither (see `cache`). It has one file for each function and signature, and no index, so
that processes that compile at the same time cannot mix up each other's entries.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numba

from parkade.base import forks
from parkade.base.progress import tell
from parkade.engine import cache as files

Function = TypeVar("Function", bound=Callable[..., Any])

FUSED = {"contract"}
"""Fast-math flags that let the compiler fuse multiplications and additions."""

SUMS = {"reassoc", "contract", "nsz"}
"""Flags that also let it split a sum over vector lanes."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Function], Function]:
    """`numba.njit`; with `cache`, machine code is kept from process to process."""
    config: Any = numba.config

    def compiled(function: Function) -> Function:
        dispatcher: Any = numba.njit(**options)(function)
        if cache and not config.DISABLE_JIT:
            if _internals and hasattr(dispatcher, "_cache"):
                dispatcher._cache = _CheckedCache(function)
            else:
                # Numba's own cache would work, but it runs files without checking them.
                _give_up(f"Numba {numba.__version__} keeps it in an unknown way", _OTHER_NUMBA)
        return cast(Function, dispatcher)

    return compiled


def interpreted(function: Function) -> Function:
    """A compiled function as Python runs it: what it calls is compiled, or shared out to cores."""
    return cast(Function, getattr(function, "py_func", function))


class _CheckedCache:
    """The cache of one function, with the methods that a dispatcher of Numba calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        module = function.__module__.rpartition(".")[2]
        self._stem = f"{module}.{function.__qualname__}-{function.__code__.co_firstlineno}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        directory = _directory()
        return None if directory is None else str(directory)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        directory = _directory()
        for path in directory.glob(f"{self._stem}.*") if directory else ():
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None if it is missing or damaged."""
        target_context.refresh()
        directory = _directory()
        if directory is None or not self._enabled:
            return None
        try:
            key = _key(sig, target_context.codegen())
            payload = files.read(self._path(directory, key))
            if payload is None:
                return None
            stored, parts = pickle.loads(payload)
            return _internals.result._rebuild(target_context, *parts) if stored == key else None
        except Exception:  # undamaged, but made with another version of something
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if that is possible."""
        if _given_up or not self._enabled:
            return
        directory = _directory()
        if directory is None:
            looked = ", ".join(map(str, files.places()))
            _give_up(f"none of {looked} is a directory that only you can write")
            return
        try:
            if not data.lifted and not data.library.has_dynamic_globals:
                key = _key(sig, data.codegen)
                files.write(self._path(directory, key), _internals.dumps((key, data._reduce())))
        except OSError as error:
            _give_up(f"{directory}: {error.strerror or error}")
        except Exception as error:
            _give_up(f"{type(error).__name__}: {error}", _OTHER_NUMBA)

    def _path(self, directory: Path, key: tuple[Any, ...]) -> Path:
        python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return directory / f"{self._stem}.{python}-{digest}.nbc"


def _key(sig: Any, codegen: Any) -> tuple[Any, ...]:
    """Types, processor and its features."""
    return sig, codegen.magic_tuple()


def _digest_of_sources() -> str:
    """The name of a cache that belongs to exactly these sources; "" if there are none.

    Numba notices edits of the file a compiled function lives in, but not of the files of
    the functions it calls; a name made from all of them cannot be stale.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    sources = sorted(Path(__file__).parent.glob("*.py"))
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16] if sources else ""


_NAME = _digest_of_sources()  # at import, since the sources may be edited before the first run


@functools.cache
def _directory() -> Path | None:
    return files.private_directory(_NAME) if _NAME else None


_given_up: list[str] = []
_OTHER_PLACE = "set NUMBA_CACHE_DIR to a directory of your own with 100 MB to spare"
_OTHER_NUMBA = "install another version of Numba"


def _give_up(reason: str, remedy: str = _OTHER_PLACE) -> None:
    """Stop keeping machine code, and say so once."""
    if not _given_up:
        _given_up.append(reason)
        tell.get()(f"compiled code is not kept, so each process compiles it ({reason}); {remedy}")


class _Internals(NamedTuple):
    """What we need of Numba that is not public."""

    result: Any  # a compiled function
    dumps: Callable[[Any], bytes]


def _find_internals() -> _Internals | None:
    """None if this version of Numba is different inside."""
    try:
        from numba.core.caching import _Cache
        from numba.core.compiler import CompileResult
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.serialize import dumps

        forks.wait_for(global_compiler_lock._lock)
        known = hasattr(CompileResult, "_reduce") and hasattr(CompileResult, "_rebuild")
        if known and all(hasattr(_CheckedCache, name) for name in _Cache.__abstractmethods__):
            return _Internals(CompileResult, dumps)
    except (ImportError, AttributeError):
        pass
    return None


_internals: Any = _find_internals()
