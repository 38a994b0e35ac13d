"""Code in two versions: for every processor of the level, and for those with AVX-512.

Machine code is made for a level of x86-64 (see `lean`), whose registers hold four numbers. A
function that is written in LLVM IR can be made once more for registers of eight. Each lane has the
same operations, so the bits are the same. Which version is called is decided at run time, so code
that was stored, or came with a wheel, runs on both kinds of processor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir

from parkade.engine.compile.emit import INT64

_FEATURES = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_ATTRIBUTE = '"target-features"="{}"'.format(",".join(f"+{name}" for name in _FEATURES))
_SYMBOL = "parkade.wide"
_USUAL, _WIDE = 8, 16  # numbers side by side: two registers


def _host_is_wide() -> bool:
    if not binding.get_process_triple().startswith("x86_64"):
        return False
    features = binding.get_host_cpu_features()
    return all(features.get(name, False) for name in _FEATURES)


ENABLED = ctypes.c_int64(_host_is_wide())
"""Whether compiled code calls the versions for AVX-512; it looks each time."""

binding.add_symbol(_SYMBOL, ctypes.addressof(ENABLED))


class _Attributes(ir.values.FunctionAttributes):  # type: ignore[misc]
    """Attributes of functions: those that llvmlite knows, and the features of a processor."""

    _known = frozenset([*ir.values.FunctionAttributes._known, _ATTRIBUTE])


def call(
    builder: Any,
    name: str,
    kind: ir.FunctionType,
    write: Callable[[int, Any], None],
    args: Sequence[Any],
) -> Any:
    """Call a function in either version; `write(size, function)` makes it for vectors of a size."""
    module = builder.module

    def version(suffix: str, size: int, attributes: list[str]) -> Any:
        full = f"parkade.{name}{suffix}"
        if full not in module.globals:
            made = ir.Function(module, kind, full)
            made.linkage = "linkonce_odr"
            made.attributes = _Attributes(["noinline", "nounwind", *attributes])
            write(size, made)
        return module.globals[full]

    usual = version("", _USUAL, [])
    if not str(module.triple).startswith("x86_64"):
        return builder.call(usual, args)
    flag = module.globals.get(_SYMBOL) or ir.GlobalVariable(module, INT64, _SYMBOL)
    enabled = builder.icmp_signed("!=", builder.load(flag), ir.Constant(INT64, 0))
    chosen = builder.select(enabled, version(".wide", _WIDE, [_ATTRIBUTE]), usual)
    return builder.call(chosen, args)
