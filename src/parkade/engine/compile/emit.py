"""Functions that write vector code in LLVM IR: constants, arithmetic, loops.

Every floating-point instruction carries an explicit ``contract`` flag. An instruction
without flags would silently inherit the caller's fast-math flags, and ``reassoc`` would
cancel the rounding trick in `simd.exp2`, which adds and subtracts a large constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import cgutils

Builder: TypeAlias = Any
Value: TypeAlias = Any

DOUBLE = ir.DoubleType()
INT64 = ir.IntType(64)
_INT32 = ir.IntType(32)
_CONTRACT = ("contract",)


def vector(lanes: int) -> ir.VectorType:
    """The type of `lanes` numbers side by side."""
    return ir.VectorType(DOUBLE, lanes)


def constant(value: float, shape: Any) -> ir.Constant:
    """A number, in every lane if `shape` is that of a vector."""
    if isinstance(shape, ir.VectorType):
        return ir.Constant(shape, [value] * shape.count)
    return ir.Constant(shape, value)


def add(builder: Builder, a: Value, b: Value) -> Value:
    """The sum a + b."""
    return builder.fadd(a, b, flags=_CONTRACT)


def subtract(builder: Builder, a: Value, b: Value) -> Value:
    """The difference a − b."""
    return builder.fsub(a, b, flags=_CONTRACT)


def multiply(builder: Builder, a: Value, b: Value) -> Value:
    """The product a · b."""
    return builder.fmul(a, b, flags=_CONTRACT)


def fma(builder: Builder, a: Value, b: Value, c: Value) -> Value:
    """The sum a · b + c."""
    lanes = f"v{a.type.count}" if isinstance(a.type, ir.VectorType) else ""
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, ir.FunctionType(a.type, [a.type] * 3), f"llvm.fmuladd.{lanes}f64"
    )
    return builder.call(function, [a, b, c])


def splat(builder: Builder, value: Value, lanes: int) -> Value:
    """A vector with `value` in every lane."""
    kind = ir.VectorType(value.type, lanes)
    undefined = ir.Constant(kind, ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    zeros = ir.Constant(ir.VectorType(_INT32, lanes), [0] * lanes)
    return builder.shuffle_vector(single, undefined, zeros)


def pack(builder: Builder, values: Sequence[Value]) -> Value:
    """A vector with these numbers as its components."""
    result: Value = ir.Constant(vector(len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        result = builder.insert_element(result, value, ir.Constant(_INT32, lane))
    return result


def total(builder: Builder, value: Value) -> Value:
    """The sum of a vector whose length is a power of two, always in the same order."""
    width = value.type.count
    while width > 1:
        width //= 2
        undefined = ir.Constant(value.type, ir.Undefined)
        kind = ir.VectorType(_INT32, width)
        low, high = (
            builder.shuffle_vector(value, undefined, ir.Constant(kind, [*range(at, at + width)]))
            for at in (0, width)
        )
        value = add(builder, low, high)
    return builder.extract_element(value, ir.Constant(_INT32, 0))


def loop(
    builder: Builder,
    start: Value,
    stop: Value,
    step: int,
    carried: Sequence[Value],
    body: Callable[[Value, list[Value]], Sequence[Value]],
) -> list[Value]:
    """``for i in range(start, stop, step): carried = body(i, carried)``, in registers."""
    head, inside, done = (builder.append_basic_block(f"loop.{s}") for s in ("head", "body", "done"))
    entry = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(INT64)
    i.add_incoming(start, entry)
    values = [builder.phi(value.type) for value in carried]
    for place, value in zip(values, carried, strict=True):
        place.add_incoming(value, entry)
    builder.cbranch(builder.icmp_signed("<", i, stop), inside, done)
    builder.position_at_end(inside)
    following = body(i, values)
    i.add_incoming(builder.add(i, ir.Constant(INT64, step)), builder.block)
    for place, value in zip(values, following, strict=True):
        place.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    return values
