"""`njit`, which compiles functions by the target of `lean` and stores their machine code.

Numba's own cache unpickles and runs any file in its directory, and ends the run if it cannot
write; this one does neither (see `cache`). It has one file for each function and signature, and no
index, so that processes that compile at the same time cannot mix up each other's entries.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

from parkade.base import forks
from parkade.base.progress import say_compiling, tell
from parkade.engine.compile import cache as files
from parkade.engine.compile import sources

TESTED = ("0.66", "0.67", "0.68")
"""Versions of Numba that `lean` and the cache, which use parts that are not public, know."""

Function = TypeVar("Function", bound=Callable[..., Any])

if hasattr(global_compiler_lock, "_lock"):
    forks.wait_for(global_compiler_lock._lock)

FUSED = {"contract"}
"""Fast-math flags that let the compiler fuse multiplications and additions."""

SUMS = {"reassoc", "contract", "nsz"}
"""Flags that also let it split a sum over vector lanes."""

# A function has its own flags, or none. What it does not name, Numba takes from whichever function
# calls it first in a process: the bits would depend on what is in the cache of this process.
_OWN = {"fastmath": False, "error_model": "python"}


def njit(
    *, allocates: bool = False, apart: bool = False, constants: bool = False, **options: Any
) -> Callable[[Function], Function]:
    """Compile a function when it is first called; its machine code is stored for later processes.

    A function that makes arrays, or calls one that returns them, `allocates`. All others work
    with the arrays of their caller, do not count references, and are smaller and faster for it.

    Fast-math flags leave it to the compiler how to round, and it may do so in another way where a
    function has become part of another one. A function that is `apart` never does: what several
    threads share out by calling it has the bits of one thread that calls it in compiled code.

    A function with `constants` is compiled for each value of a number that its callers write in
    their code. That makes loops faster if the number says where in an array they work.
    """
    config: Any = numba.config
    options = {**_OWN, **options}

    def compiled(function: Function) -> Function:
        if config.DISABLE_JIT:
            return function
        if not is_tested():
            # As Numba does it: slower to compile. Without a cache the bits are always the same.
            _give_up(f"Numba {numba.__version__} is not among those parkade knows", _OTHER_NUMBA)
            return cast(Function, numba.njit(nogil=True, **options)(function))
        from parkade.engine.compile import lean

        entry: Any = lean.entry(
            function, allocates=allocates, apart=apart, constants=constants, **options
        )
        entry._cache = _CheckedCache(function)
        return cast(Function, entry)

    return compiled


def is_tested() -> bool:
    """Whether the installed version of Numba is one of `TESTED`."""
    return numba.__version__.rpartition(".")[0] in TESTED


def made_with() -> dict[str, str]:
    """What the bits of results depend on besides the source: Numba, LLVM and processor."""
    from llvmlite import binding

    level = binding.get_host_cpu_name()
    if is_tested():
        from parkade.engine.compile import lean

        level = lean.Inner.targetdescr.target_context.codegen().magic_tuple()[1]
    llvm = ".".join(map(str, binding.llvm_version_info))
    return {"numba": numba.__version__, "llvm": llvm, "cpu": level}


def lacks(bundle: Any, field: str) -> bool:
    """Whether a field of a NamedTuple is None, in an overload, which knows types only."""
    return isinstance(bundle.types[bundle.fields.index(field)], numba.types.NoneType)


def is_bundle(bundle: Any, kind: type) -> bool:
    """Whether a type is that of a NamedTuple of this class, in an overload."""
    return getattr(bundle, "instance_class", None) is kind


def interpreted(function: Function) -> Function:
    """A compiled function as Python runs it: what it calls is compiled, or shared out to cores."""
    return cast(Function, getattr(function, "py_func", function))


class _CheckedCache:
    """The cache of one function, with the methods that a dispatcher of Numba calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @functools.cached_property
    def _stem(self) -> str:
        """The beginning of the names of its files."""
        module = self._function.__module__.removeprefix("parkade.engine.")
        digest = sources.digest_of_function(self._function)
        return f"{module}.{self._function.__qualname__}-{digest[:8]}"

    @property
    def cache_path(self) -> str | None:
        directory = private_directory()
        return None if directory is None else str(directory)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        directory = private_directory()
        for path in directory.glob(f"{self._stem}.*") if directory else ():
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None if it is missing or damaged."""
        # Numba would load all it knows of Python and NumPy: half a second, which machine code does
        # not need. Before it compiles, it does so anyway.
        target_context.start_runtime()
        if not self._enabled:
            return None
        from numba.core.compiler import CompileResult

        rebuild: Any = CompileResult._rebuild
        key = _key(sig, target_context.codegen())
        for payload in self._payloads(key):
            with suppress(Exception):  # undamaged, but made with another version of something
                stored, parts = pickle.loads(payload)
                if stored == key:
                    result = rebuild(target_context, *parts)
                    COUNTS["loaded"] += 1
                    return result
        say_compiling()
        return None

    def _payloads(self, key: tuple[Any, ...]) -> Iterator[memoryview]:
        """The contents of the files of a key: of the one in the wheel, and of that in the cache."""
        prebuilt = _prebuilt()
        if prebuilt is not None:
            payload = files.read(self._path(prebuilt, key), prebuilt.stat().st_uid)
            if payload is not None:
                yield payload
        directory = private_directory()
        if directory is not None:
            payload = files.read(self._path(directory, key))
            if payload is not None:
                yield payload

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function, if that is possible."""
        COUNTS["compiled"] += 1
        if _given_up or not self._enabled:
            return
        directory = private_directory()
        if directory is None:
            looked = ", ".join(map(str, files.places()))
            _give_up(f"none of {looked} is a directory that only you can write")
            return
        try:
            if not data.lifted and not data.library.has_dynamic_globals:
                from numba.core import serialize

                dumps: Any = serialize.dumps
                key, parts = _key(sig, data.codegen), list(data._reduce())
                parts[_ANNOTATION] = ""  # the source with its path, which nobody needs
                files.write(self._path(directory, key), dumps((key, parts)))
                files.tidy(directory)
        except OSError as error:
            _give_up(f"{directory}: {error.strerror or error}")
        except Exception as error:
            _give_up(f"{type(error).__name__}: {error}", _OTHER_NUMBA)

    def _path(self, directory: Path, key: tuple[Any, ...]) -> Path:
        python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return directory / f"{self._stem}.{python}-{digest}.nbc"


def _key(sig: Any, codegen: Any) -> tuple[Any, ...]:
    """The key of a compiled function: types of its arguments, processor and its features."""
    return sig, codegen.magic_tuple()


_ENGINE = Path(__file__).parents[1]
_SOURCES = sources.read(_ENGINE)  # at import: they may be edited before the first run


@functools.cache
def name_of_code() -> str:
    """The name of a cache that belongs to exactly this code; "" if there are no sources.

    Numba notices edits of the file a compiled function lives in, but not of the files of
    the functions it calls; a name made from all of them cannot be stale.
    """
    if not _SOURCES:
        return ""
    return sources.name_of_code(_SOURCES, numba.__version__, _ENGINE / "prebuilt")


@functools.cache
def private_directory() -> Path | None:
    """The directory for machine code of these sources, or None if none is safe."""
    name = name_of_code()
    return files.private_directory(name) if name else None


@functools.cache
def _prebuilt() -> Path | None:
    """The machine code that came with the wheel, if it was made from these sources."""
    folder = _ENGINE / "prebuilt"
    for directory in (folder, folder / name_of_code()):
        if not files.is_safe(directory, _ENGINE.stat().st_uid):
            return None
    return directory


COUNTS = {"compiled": 0, "loaded": 0}
"""How many functions this process has compiled, and loaded from files."""

_ANNOTATION = 6  # the index of the annotated source in the tuple that Numba makes of a function

_given_up: list[str] = []
_OTHER_PLACE = "set NUMBA_CACHE_DIR to a directory of your own with 100 MB to spare"
_OTHER_NUMBA = f"install Numba {' or '.join(TESTED)}"


def _give_up(reason: str, remedy: str = _OTHER_PLACE) -> None:
    """Stop storing machine code, and tell the user so once."""
    if not _given_up:
        _given_up.append(reason)
        tell.get()(f"compiled code is not kept, so each process compiles it ({reason}); {remedy}")
