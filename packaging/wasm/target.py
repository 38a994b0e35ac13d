"""Let the engine's own compiler emit WebAssembly instead of code for this machine.

Numba's code, before any optimisation, does not depend on the size of a pointer: structures are
addressed by their fields. So it is enough to give Numba the data layout of WebAssembly from the
start; LLVM then optimises for WebAssembly as it does for any processor.

Compiled code cannot run in this process. Its errors are small numbers, without the Python objects
(and paths of files) that native code has for them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from llvmlite import binding
from numba.core import callconv, codegen, fastmathpass
from numba.core.runtime import nrtdynmod
from numba.core.target_extension import target_override

from parkade.engine.compile import lean

TRIPLE = "wasm32-unknown-unknown"
FEATURES = ("simd128", "bulk-memory", "bulk-memory-opt", "nontrapping-fptoint", "sign-ext")
"""Features that a browser must support: all browsers do since 2023."""

_SELDOM = re.compile(
    r"_ZN(4runs(5heads|7resting|4room|12transformers)|7parkade6engine(4sums6lumped|4rest))"
)
"""Functions that are called between steps, or less often: their code is to be small."""


class WasmLibrary(lean.LinkedLibrary):
    """One function, with all functions that it calls, as Numba generates it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Do nothing: `WasmCodegen.emit` optimises everything at once."""

    def emit(self, names: set[str]) -> bool:
        """Return False: emit no code for this machine."""
        return False


class WasmCodegen(lean.NativeCodegen):
    """A code generator whose target machine is WebAssembly."""

    _library_class = WasmLibrary

    def _init(self, llvm_module: Any) -> None:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        self._tm = binding.Target.from_triple(TRIPLE).create_target_machine(
            cpu="generic",
            features=",".join(f"+{name}" for name in FEATURES),
            opt=3,
            reloc="static",
            codemodel="default",
        )
        self._tm_features = ""
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.triple = TRIPLE
        return module

    def emit(self, module: Any, names: list[str]) -> bytes:
        """Return an object file that exports only the functions of these names."""
        for each in module.functions:
            if not each.is_declaration and each.name not in names:
                each.linkage = "internal"
            if not each.is_declaration and _SELDOM.match(each.name):
                each.add_function_attribute("minsize")
        for each in module.global_variables:
            if not each.is_declaration:
                each.linkage = "internal"
        passes, builder = self._module_pass_manager()
        passes.run(module, builder)
        module.verify()
        return bytes(self._tm.emit_object(module))


class WasmContext(lean.NativeContext):
    """How types and operations become code for WebAssembly."""

    def init(self) -> None:
        """Use the code generator above."""
        super().init()
        self._internal_codegen = WasmCodegen("parkade.wasm")

    @cached_property
    def call_conv(self) -> callconv.MinimalCallConv:
        """The calling convention: functions return 0, or another number after an error."""
        return callconv.MinimalCallConv(self)

    @cached_property
    def _counting(self) -> Any:
        """The library of functions that count references, in the layout of WebAssembly."""
        library = self.codegen().create_library("counting")
        module = library.create_ir_module("counting")
        increase, decrease = (
            nrtdynmod._define_atomic_inc_dec(module, op, "monotonic") for op in ("add", "sub")
        )
        nrtdynmod._define_nrt_meminfo_data(module)
        nrtdynmod._define_nrt_incref(module, increase)
        nrtdynmod._define_nrt_decref(module, decrease)
        library.add_ir_module(module)
        library.finalize()
        return library

    def post_lowering(self, mod: Any, library: codegen.CodeLibrary) -> None:
        """Finish a function: link the functions that count references."""
        if self.fastmath:
            fastmathpass.rewrite_module(mod, self.fastmath)
        library.add_linking_library(self._counting)


def install() -> WasmContext:
    """Compile the whole engine for WebAssembly from now on."""
    descriptor = lean.Inner.targetdescr
    context = WasmContext(descriptor.typing_context, lean.NAME)
    descriptor.__dict__["_toplevel_target_context"] = context
    return context


def compile_all(context: WasmContext, entries: dict[str, tuple[Any, Any]]) -> bytes:
    """Compile functions, given by name with their signatures, to an object file."""
    module = binding.parse_assembly(str(context.codegen()._create_empty_module("engine")))
    for name, (function, signature) in entries.items():
        inner = lean.entry(function, allocates=False, apart=False, constants=False).inner
        with target_override(lean.NAME):
            inner.compile(signature)
        (compiled,) = inner.overloads.values()
        part = compiled.library._get_module_for_linking().clone()
        entry = part.get_function(compiled.fndesc.llvm_func_name)
        entry.name, entry.linkage = name, "external"
        module.link_in(part)
    return context.codegen().emit(module, list(entries))
