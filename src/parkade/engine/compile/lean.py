"""A target for Numba that compiles a function that Python calls, with all it calls, as one piece.

By default Numba optimises and emits every inner function on its own, and once more in each of
its callers. That is most of the time it takes; and since the copies are weak symbols, a call
goes to whichever copy was loaded first, and results may differ in the last bits. Here inner
functions are only typed and lowered. They become part of the entry points that call them, which
are optimised and emitted once, and have no symbol that other code could replace.

Code is made for a level of x86-64, not for one processor: all processors of the level run the
same code, and get the same bits.

This is a target of its own, made by deriving from Numba's classes, so code of others is compiled
as always. What is derived from is not public, so `jit` uses this module only with versions of
Numba that it is tested with.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
from llvmlite import binding
from numba.core import (
    codegen,
    compiler,
    cpu,
    dispatcher,
    registry,
    target_extension,
    types,
    typing,
)
from numba.core.runtime import rtsys

NAME = "parkade"

LEVEL = "x86-64-v3"
_NEEDED = ["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"]


class LinkedLibrary(codegen.JITCodeLibrary):
    """The code of one function, with that of all functions it calls."""

    _linked = False  # here, and not loaded from a file

    def finalize(self) -> None:
        """Link what it calls; `emit` does the rest, if it is an entry point."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = self._linked = True

    def emit(self, names: set[str]) -> bool:
        """Make machine code, and let others see the functions of these names only.

        False if there is nothing to emit: an inner function, which Python does not call.
        """
        self._ensure_finalized()
        if not self._linked:
            return True
        defined = [each for each in self._final_module.functions if not each.is_declaration]
        if not names.issubset(each.name for each in defined):
            return False
        for each in defined:
            if any(each.name.startswith(part) for part in _APART):
                each.add_function_attribute("noinline")
        self._optimize_final_module()
        # Only now: a function that is known to have no other callers is compiled for these, and
        # may round differently from the same function in another entry point.
        for each in self._final_module.functions:
            if not each.is_declaration and each.name not in names:
                each.linkage = "internal"
        self._final_module.verify()
        self._finalize_final_module()
        return True

    def _optimize_final_module(self) -> None:
        """Optimise once. Numba does so twice, and the code is slower."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function that was emitted or loaded."""
        return int(self._codegen._engine.get_function_address(name))

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Machine code alone: no other code links to an entry point."""
        empty = binding.parse_assembly(str(self._codegen._create_empty_module(self.name)))
        return self.name, "object", (self._get_compiled_object(), empty.as_bitcode())


class NativeCodegen(codegen.JITCPUCodegen):
    """The code generator of the target, with an execution engine of its own."""

    _library_class = LinkedLibrary

    def _get_host_cpu_name(self) -> str:
        chosen = super()._get_host_cpu_name()
        return LEVEL if numba.config.CPU_NAME is None and _has_level() else chosen

    def _get_host_cpu_features(self) -> str:
        chosen = super()._get_host_cpu_features()
        return "" if numba.config.CPU_FEATURES is None and _has_level() else chosen


def _has_level() -> bool:
    if not binding.get_process_triple().startswith("x86_64"):
        return False
    features = binding.get_host_cpu_features()
    return all(features.get(name, False) for name in _NEEDED)


class NativeContext(cpu.CPUContext):
    """How types and operations become code: as for every CPU."""

    def init(self) -> None:
        """Use our own code generator."""
        super().init()
        self._internal_codegen = NativeCodegen("parkade.exec")

    def start_runtime(self) -> None:
        """Let the CPU target make Numba's runtime, whoever comes first."""
        rtsys.initialize(registry.cpu_target.target_context)

    def load_additional_registries(self) -> None:
        """Load what Numba knows of Python and NumPy."""
        self.start_runtime()
        super().load_additional_registries()

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Callable[..., Any]:
        """The function for Python, or something in its place that only serves as a key."""
        if not library.emit({fndesc.llvm_func_name, fndesc.llvm_cpython_wrapper_name}):
            return [].append  # Numba wants a built-in function, and no two that are equal
        executable: Callable[..., Any] = super().get_executable(library, fndesc, env)
        return executable


class Target(target_extension.CPU):
    """What holds for a CPU holds for this target."""


class Descriptor(registry.CPUTarget):
    """The contexts for typing and for code that belong to the target."""

    def __init__(self) -> None:
        super().__init__(NAME)

    @registry.cached_property
    def _toplevel_target_context(self) -> NativeContext:
        return NativeContext(self.typing_context, NAME)

    @registry.cached_property
    def _toplevel_typing_context(self) -> typing.Context:
        return typing.Context()


class Flags(compiler.Flags):
    """Options of a function, as keys of dictionaries.

    Numba looks up every call that it types by them. Its own all have one hash, and compare all
    options one by one.
    """

    def __hash__(self) -> int:
        return hash((self.nrt, self.no_cpython_wrapper, self.error_model, str(self.fastmath)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flags) and self._values == other._values:
            return True
        return bool(super().__eq__(other))


class Compiler(dispatcher._FunctionCompiler):
    """Compiles functions with `Flags`."""

    def _customize_flags(self, flags: compiler.Flags) -> Flags:
        return Flags(super()._customize_flags(flags))


class Inner(dispatcher.Dispatcher):
    """A compiled function that only compiled code calls."""

    targetdescr = Descriptor()
    constants = False

    def __init__(self, py_func: Any, targetoptions: Any, **more: Any) -> None:
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **targetoptions}
        super().__init__(py_func, targetoptions=options, **more)
        pipeline = more.get("pipeline_class", compiler.Compiler)
        self._compiler = Compiler(py_func, self.targetdescr, options, self.locals, pipeline)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile our functions once for all values of a number, even if a caller knows it.

        Those with `constants` are compiled for each value that callers write in their code.
        """
        if self.py_func.__module__.startswith("parkade.") and not self.constants:
            args = tuple(map(types.unliteral, args))
        return super().get_call_template(args, kws)


class EntryPoint(Inner):
    """A function that Python calls. Compiled code calls `inner`, which is the same function."""

    def __init__(self, inner: Inner) -> None:
        options = {**inner.targetoptions, "no_cpython_wrapper": False}
        super().__init__(inner.py_func, options)
        self.inner = inner

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self.inner)

    def compile(self, sig: Any) -> Any:
        """Compile, without looking for garbage: there is little among millions of new objects."""
        # Numba compiles its own functions for the CPU, unless this override says otherwise.
        with _no_collection(), target_extension.target_override(NAME):
            return super().compile(sig)


@contextmanager
def _no_collection() -> Iterator[None]:
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_APART: set[str] = set()  # how the symbols of functions begin that are not to be inlined


def entry(
    function: Callable[..., Any], *, allocates: bool, apart: bool, constants: bool, **options: Any
) -> EntryPoint:
    """Compile a function when Python calls it, or as part of others that call it.

    Without `allocates`, arrays are not counted: their owner is the caller, and stays. Code that is
    `apart` is the same in every entry point. With `constants` there is code for each value of a
    number that a caller writes.
    """
    if apart:
        parts = f"{function.__module__}.{function.__qualname__}".split(".")
        _APART.add("_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "B")
    njit: Any = numba.njit
    inner = njit(_target=NAME, nogil=True, _nrt=allocates, **options)(function)
    inner.constants = constants
    return EntryPoint(inner)


target_extension.target_registry[NAME] = Target
target_extension.dispatcher_registry[Target] = Inner
target_extension.jit_registry[Target] = partial(numba.jit, _target=NAME)
