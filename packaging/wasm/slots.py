"""Arrays and numbers in a table of 64-bit slots, which JavaScript can read and write.

Arrays that are made for the table (`floats`, `integers`, `flags`) stay until all memory is cleared.
References to them are not counted, which would take more code than everything else.

An array takes one slot for its address and one for each of its sizes; a number or a truth value
takes one; None takes none; a NamedTuple takes those of its fields, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

TABLE = types.CPointer(types.int64)
"""The type of a table."""

_SLOT = ir.IntType(64)


def count(kind: Any) -> int:
    """The number of slots that a value of this type takes."""
    if isinstance(kind, types.NoneType):
        return 0
    if isinstance(kind, types.Array):
        return 1 + kind.ndim
    if isinstance(kind, types.BaseTuple):
        return sum(map(count, kind.types))
    return 1


def reader(kind: Any) -> Any:
    """A compiled function (table, first slot) that reads a value of this type."""

    @intrinsic
    def read(typing_context: Any, table: Any, first: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            slots = _slots(builder, *args)

            def value(kind: Any) -> Any:
                if isinstance(kind, types.NoneType):
                    return context.get_dummy_value()
                if isinstance(kind, types.BaseTuple):
                    return context.make_tuple(builder, kind, [value(part) for part in kind.types])
                bits = builder.load(next(slots))
                if isinstance(kind, types.Array):
                    sizes = [builder.load(next(slots)) for _ in range(kind.ndim)]
                    return _array(context, builder, kind, bits, sizes)
                if isinstance(kind, types.Float):
                    return builder.bitcast(bits, ir.DoubleType())
                if isinstance(kind, types.Boolean):
                    return builder.icmp_signed("!=", bits, ir.Constant(_SLOT, 0))
                return bits

            return value(kind)

        return kind(table, types.int64), generate

    return read


@intrinsic
def write(typing_context: Any, table: Any, first: Any, value: Any) -> Any:
    """Write a value into the table from slot `first` on; its arrays must belong to the table."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        slots = _slots(builder, *args[:2])

        def put(kind: Any, value: Any) -> None:
            if isinstance(kind, types.NoneType):
                return
            if isinstance(kind, types.BaseTuple):
                for part, each in zip(
                    kind.types, cgutils.unpack_tuple(builder, value), strict=True
                ):
                    put(part, each)
            elif isinstance(kind, types.Array):
                array = make_array(kind)(context, builder, value)
                builder.store(builder.ptrtoint(array.data, _SLOT), next(slots))
                for size in cgutils.unpack_tuple(builder, array.shape):
                    builder.store(size, next(slots))
            elif isinstance(kind, types.Float):
                builder.store(builder.bitcast(value, _SLOT), next(slots))
            else:
                builder.store(context.cast(builder, value, kind, types.int64), next(slots))

        put(signature.args[2], args[2])
        return context.get_dummy_value()

    return types.void(table, types.int64, value), generate


def _maker(dtype: Any) -> Any:
    @intrinsic
    def make(typing_context: Any, shape: Any) -> Any:
        kind = types.Array(dtype, len(shape), "C")

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            sizes = cgutils.unpack_tuple(builder, args[0])
            count = context.get_constant(types.intp, context.get_abi_sizeof(_data(context, kind)))
            for size in sizes:
                count = builder.mul(count, size)
            zeroed = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(cgutils.voidptr_t, [_SLOT]), "zeroed"
            )
            address = builder.ptrtoint(builder.call(zeroed, [count]), _SLOT)
            return _array(context, builder, kind, address, sizes)

        return kind(shape), generate

    return make


floats, integers, flags = map(_maker, (types.float64, types.int64, types.boolean))
"""Compiled functions (shape) that make arrays of zeros, which stay until all memory is cleared."""


def _call(name: str) -> Any:
    @intrinsic
    def call(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
            return context.get_dummy_value()

        return types.void(), generate

    return call


begin_part, end_part = map(_call, ("begin_part", "end_part"))
"""Compiled functions: arrays that are made in between stay until the next `begin_part` only."""


def _data(context: Any, kind: Any) -> Any:
    return context.get_data_type(kind.dtype)


def _slots(builder: Any, table: Any, first: Any) -> Iterator[Any]:
    """The addresses of slots, one after the other."""
    start, i = builder.gep(table, [first]), 0
    while True:
        yield builder.gep(start, [ir.Constant(_SLOT, i)])
        i += 1


def _array(context: Any, builder: Any, kind: Any, address: Any, sizes: list[Any]) -> Any:
    """A contiguous array whose memory belongs to the table."""
    array = make_array(kind)(context, builder)
    item = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    strides = [item]
    for size in sizes[:0:-1]:
        strides.insert(0, builder.mul(strides[0], size))
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=cgutils.pack_array(builder, sizes),
        strides=cgutils.pack_array(builder, strides),
        itemsize=item,
        meminfo=None,
    )
    return array._getvalue()
