"""Vector primitives: 2^x, one tile of attention, and a row operation for small matrices.

Numba has no vector maths library to call (no SVML), and its loop vectoriser keeps
accumulators in memory. Both cost a factor of two or more, so the inner loop is written in
LLVM IR here: `LANES` queries side by side in one vector, looping over the keys. LLVM
splits the wide vector into whatever registers the machine has.

Every floating-point instruction carries an explicit ``contract`` flag. An instruction
without flags would silently inherit the caller's fast-math flags, and ``reassoc`` would
cancel the rounding trick in `exp2`, which adds and subtracts a large constant.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16
"""Queries per tile: four AVX2 or two AVX-512 registers per quantity."""

WIDTH = 4
"""Numbers that a row operation takes at once; rows are padded to a multiple."""

LOG2E = 1.4426950408889634
"""log2(e). Scores are kept in base 2, so that weights are 2^score."""

MAX_SCORE = 800.0
"""Base-2 scores above this need a shift: 2^800 times any number of tokens is finite."""

# 2^f for |f| <= 1/2: interpolation at 11 Chebyshev nodes, one of which is 0, so that 2^0 is
# exactly 1 (a token attends to itself with weight 1). Relative error below 4e-16 with FMA.
_COEFFICIENTS = (
    1.0,
    0.69314718055995,
    0.24022650695910097,
    0.05550410866444772,
    0.009618129107606888,
    0.0013333558230164974,
    0.0001540353044173605,
    1.5252657260200837e-05,
    1.321544258792169e-06,
    1.0208690299958306e-07,
    7.072585949269223e-09,
)
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves round(x) in the low bits
_CONTRACT = ("contract",)
_DOUBLE = ir.DoubleType()
_INT64 = ir.IntType(64)


def _constant(value: float, shape: Any) -> ir.Constant:
    if isinstance(shape, ir.VectorType):
        return ir.Constant(shape, [value] * shape.count)
    return ir.Constant(shape, value)


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    lanes = f"v{a.type.count}" if isinstance(a.type, ir.VectorType) else ""
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, ir.FunctionType(a.type, [a.type] * 3), f"llvm.fmuladd.{lanes}f64"
    )
    return builder.call(function, [a, b, c])


def _emit_exp2(builder: Any, x: Any) -> Any:
    """2^x for a scalar or a vector, x < 1023. Exactly 0 below 2^-1022."""
    kind = x.type
    ints = ir.VectorType(_INT64, kind.count) if isinstance(kind, ir.VectorType) else _INT64
    # At -1023 the exponent field below is 0, so the result is exactly zero: no branch.
    floor = _constant(-1023.0, kind)
    x = builder.select(builder.fcmp_ordered(">", x, floor), x, floor)
    shifted = builder.fadd(x, _constant(_ROUND, kind), flags=_CONTRACT)
    whole = builder.fsub(shifted, _constant(_ROUND, kind), flags=_CONTRACT)
    fraction = builder.fsub(x, whole, flags=_CONTRACT)
    power = _constant(_COEFFICIENTS[-1], kind)
    for coefficient in _COEFFICIENTS[-2::-1]:
        power = _fma(builder, power, fraction, _constant(coefficient, kind))
    exponent = builder.add(builder.bitcast(shifted, ints), _constant(1023, ints))
    scale = builder.bitcast(builder.shl(exponent, _constant(52, ints)), kind)
    return builder.fmul(power, scale, flags=_CONTRACT)


@intrinsic
def _exp2(typing_context: Any, x: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _emit_exp2(builder, args[0])

    return types.float64(types.float64), generate


exp2: Any = _exp2
"""2^x for compiled code, inlined and vectorisable."""


def _splat(builder: Any, value: Any, lanes: int = LANES) -> Any:
    vector = ir.VectorType(value.type, lanes)
    single = builder.insert_element(
        ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), zeros)


def _make_tile(*, masked: bool, weighted: bool) -> Any:
    @intrinsic
    def tile(
        typing_context: Any,
        block: Any,
        keys: Any,
        weights: Any,
        j0: Any,
        j1: Any,
        k0: Any,
        dims: Any,
    ) -> Any:
        d = len(dims)
        signature = types.void(block, keys, weights, types.int64, types.int64, types.int64, dims)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def data(i: int) -> Any:
                return context.make_array(signature.args[i])(context, builder, args[i]).data

            lanes = ir.VectorType(_DOUBLE, LANES)
            slots = builder.bitcast(data(0), lanes.as_pointer())

            def slot(i: int) -> Any:
                return builder.gep(slots, [ir.Constant(_INT64, i)])

            x = [builder.load(slot(c), align=8) for c in range(d)]
            a = [builder.load(slot(d + c), align=8) for c in range(d)]
            shift = builder.load(slot(2 * d), align=8)
            start = [builder.load(slot(2 * d + 1 + c), align=8) for c in range(d + 1)]

            head = builder.append_basic_block("keys.head")
            body = builder.append_basic_block("keys.body")
            done = builder.append_basic_block("keys.done")
            entry = builder.block
            builder.branch(head)
            builder.position_at_end(head)
            j = builder.phi(_INT64)
            j.add_incoming(args[3], entry)
            sums = [builder.phi(lanes) for _ in start]
            for accumulator, value in zip(sums, start, strict=True):
                accumulator.add_incoming(value, entry)
            builder.cbranch(builder.icmp_signed("<", j, args[4]), body, done)

            builder.position_at_end(body)
            row = builder.mul(j, ir.Constant(_INT64, d))
            delta = []
            score = shift
            for c in range(d):
                at = builder.gep(data(1), [builder.add(row, ir.Constant(_INT64, c))])
                key = _splat(builder, builder.load(at))
                delta.append(builder.fsub(key, x[c], flags=_CONTRACT))
                score = _fma(builder, a[c], delta[c], score)
            weight = _emit_exp2(builder, score)
            if weighted:
                factor = builder.load(builder.gep(data(2), [j]))
                weight = builder.fmul(weight, _splat(builder, factor), flags=_CONTRACT)
            if masked:
                iota = ir.Constant(ir.VectorType(_INT64, LANES), list(range(LANES)))
                seen = builder.icmp_signed(">=", iota, _splat(builder, builder.sub(j, args[5])))
                weight = builder.select(seen, weight, _constant(0.0, lanes))
            grown = [_fma(builder, weight, delta[c], sums[c]) for c in range(d)]
            grown.append(builder.fadd(sums[d], weight, flags=_CONTRACT))
            j.add_incoming(builder.add(j, ir.Constant(_INT64, 1)), builder.block)
            for accumulator, value in zip(sums, grown, strict=True):
                accumulator.add_incoming(value, builder.block)
            builder.branch(head)

            builder.position_at_end(done)
            for c, accumulator in enumerate(sums):
                builder.store(accumulator, slot(2 * d + 1 + c), align=8)
            return context.get_dummy_value()

        return signature, generate

    return tile


# A tile works on `block`, a flat array of (3d + 2) rows of LANES numbers: the queries x_k,
# their a_k, the shift (minus the largest score), and the sums  Σ w (x_j - x_k)  and  Σ w.
# Arguments: (block, keys, weights, j0, j1, k0, dims); `dims` is a tuple of length d, which
# makes d a constant to the compiler.
tile_plain = _make_tile(masked=False, weighted=False)
tile_causal = _make_tile(masked=True, weighted=False)  # key j counts for lanes k0 + l >= j
tile_weighted = _make_tile(masked=False, weighted=True)  # frozen tokens


@intrinsic
def _add_multiple(
    typing_context: Any, matrix: Any, target: Any, source: Any, factor: Any, width: Any
) -> Any:
    signature = types.void(matrix, types.int64, types.int64, types.float64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        width = args[4]
        rows = [builder.gep(data, [builder.mul(row, width)]) for row in args[1:3]]
        vector = ir.VectorType(_DOUBLE, WIDTH)
        factor = _splat(builder, args[3], WIDTH)
        head = builder.append_basic_block("row.head")
        body = builder.append_basic_block("row.body")
        done = builder.append_basic_block("row.done")
        entry = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        c = builder.phi(_INT64)
        c.add_incoming(ir.Constant(_INT64, 0), entry)
        builder.cbranch(builder.icmp_signed("<", c, width), body, done)
        builder.position_at_end(body)
        to, at = (builder.bitcast(builder.gep(row, [c]), vector.as_pointer()) for row in rows)
        changed = _fma(builder, factor, builder.load(at, align=8), builder.load(to, align=8))
        builder.store(changed, to, align=8)
        c.add_incoming(builder.add(c, ir.Constant(_INT64, WIDTH)), body)
        builder.branch(head)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


add_multiple: Any = _add_multiple
"""matrix[target] += factor · matrix[source] over `width` columns, a multiple of `WIDTH`.

Numba's vectoriser is made for long loops, and leaves rows of ten numbers to scalar code.
"""
