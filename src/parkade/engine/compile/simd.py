"""Vector primitives: 2^x, one tile of attention, and a row operation for small matrices.

Numba has no vector maths library to call (no SVML), and its loop vectoriser keeps
accumulators in memory. Both cost a factor of two or more, so the inner loop is written in
LLVM IR here: `LANES` queries side by side in one vector, looping over the keys. LLVM
splits the wide vector into whatever registers the machine has.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from parkade.engine.compile.emit import (
    INT64,
    add,
    constant,
    fma,
    loop,
    multiply,
    splat,
    subtract,
    vector,
)

LANES = 16
"""Queries per tile: four AVX2 or two AVX-512 registers per quantity."""

WIDTH = 4
"""Numbers that a row operation takes at once; rows are padded to a multiple."""

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


def emit_exp2(builder: Any, x: Any, *, bounded: bool = False) -> Any:
    """2^x for a scalar or a vector, x < 1023. Exactly 0 below 2^-1022.

    With `bounded`, x must be above -1021.
    """
    kind = x.type
    ints = ir.VectorType(INT64, kind.count) if isinstance(kind, ir.VectorType) else INT64
    if not bounded:
        # At -1023 the exponent field below is 0, so the result is exactly zero: no branch.
        floor = constant(-1023.0, kind)
        x = builder.select(builder.fcmp_ordered(">", x, floor), x, floor)
    shifted = add(builder, x, constant(_ROUND, kind))
    whole = subtract(builder, shifted, constant(_ROUND, kind))
    fraction = subtract(builder, x, whole)
    power = constant(_COEFFICIENTS[-1], kind)
    for coefficient in _COEFFICIENTS[-2::-1]:
        power = fma(builder, power, fraction, constant(coefficient, kind))
    if bounded:  # add to the exponent, which leaves multipliers to others
        steps = builder.shl(builder.bitcast(shifted, ints), constant(52, ints))
        return builder.bitcast(builder.add(builder.bitcast(power, ints), steps), kind)
    exponent = builder.add(builder.bitcast(shifted, ints), constant(1023, ints))
    scale = builder.bitcast(builder.shl(exponent, constant(52, ints)), kind)
    return multiply(builder, power, scale)


@intrinsic
def _exp2(typing_context: Any, x: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit_exp2(builder, args[0])

    return types.float64(types.float64), generate


exp2: Any = _exp2
"""2^x for compiled code, inlined and vectorisable."""


def _make_tile(*, masked: bool = False, weighted: bool = False, counted: bool = False) -> Any:
    # Eight parameters: an intrinsic takes arrays one by one, and the first is Numba's own.
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
            def array(i: int) -> Any:
                return context.make_array(signature.args[i])(context, builder, args[i])

            def data(i: int) -> Any:
                return array(i).data

            lanes = vector(LANES)
            slots = builder.bitcast(data(0), lanes.as_pointer())

            def slot(i: int) -> Any:
                return builder.gep(slots, [ir.Constant(INT64, i)])

            x = [builder.load(slot(c), align=8) for c in range(d)]
            a = [builder.load(slot(d + c), align=8) for c in range(d)]
            shift = builder.load(slot(2 * d), align=8)
            start = [builder.load(slot(2 * d + 1 + c), align=8) for c in range(d + 1)]

            def key(j: Any, sums: list[Any]) -> list[Any]:
                row = builder.mul(j, ir.Constant(INT64, d))
                delta = []
                score = shift
                for c in range(d):
                    at = builder.gep(data(1), [builder.add(row, ir.Constant(INT64, c))])
                    place = splat(builder, builder.load(at), LANES)
                    delta.append(subtract(builder, place, x[c]))
                    score = fma(builder, a[c], delta[c], score)
                weight = emit_exp2(builder, score)
                if weighted:
                    factor = builder.load(builder.gep(data(2), [j]))
                    weight = multiply(builder, weight, splat(builder, factor, LANES))
                if counted:
                    width = builder.extract_value(array(2).shape, 1)
                    at = builder.add(builder.mul(j, width), args[5])
                    counts = builder.bitcast(builder.gep(data(2), [at]), lanes.as_pointer())
                    weight = multiply(builder, weight, builder.load(counts, align=8))
                if masked:
                    iota = ir.Constant(ir.VectorType(INT64, LANES), list(range(LANES)))
                    from_here = splat(builder, builder.sub(j, args[5]), LANES)
                    seen = builder.icmp_signed(">=", iota, from_here)
                    weight = builder.select(seen, weight, constant(0.0, lanes))
                grown = [fma(builder, weight, delta[c], sums[c]) for c in range(d)]
                grown.append(add(builder, sums[d], weight))
                return grown

            sums = loop(builder, args[3], args[4], 1, start, key)
            for c, accumulator in enumerate(sums):
                builder.store(accumulator, slot(2 * d + 1 + c), align=8)
            return context.get_dummy_value()

        return signature, generate

    return tile


# A tile works on `block`, a flat array of (3d + 2) rows of LANES numbers: the queries x_k,
# their a_k, the shift (minus the largest score), and the sums  Σ w (x_j - x_k)  and  Σ w.
# Arguments: (block, keys, weights, j0, j1, k0, dims); `dims` is a tuple of length d, which
# makes d a constant to the compiler.
tile_plain = _make_tile()
tile_causal = _make_tile(masked=True)  # key j counts for lanes k0 + l >= j
tile_weighted = _make_tile(weighted=True)  # frozen tokens
tile_counted = _make_tile(counted=True)  # key j has weights[j, k0 + l] followers for lane l


@intrinsic
def _add_multiple(
    typing_context: Any, matrix: Any, target: Any, source: Any, factor: Any, width: Any
) -> Any:
    signature = types.void(matrix, types.int64, types.int64, types.float64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        width = args[4]
        rows = [builder.gep(data, [builder.mul(row, width)]) for row in args[1:3]]
        pointer = vector(WIDTH).as_pointer()
        factor = splat(builder, args[3], WIDTH)

        def columns(c: Any, _: list[Any]) -> list[Any]:
            to, at = (builder.bitcast(builder.gep(row, [c]), pointer) for row in rows)
            changed = fma(builder, factor, builder.load(at, align=8), builder.load(to, align=8))
            builder.store(changed, to, align=8)
            return []

        loop(builder, ir.Constant(INT64, 0), width, WIDTH, [], columns)
        return context.get_dummy_value()

    return signature, generate


add_multiple: Any = _add_multiple
"""matrix[target] += factor · matrix[source] over `width` columns, a multiple of `WIDTH`.

Numba's vectoriser is made for long loops, and leaves rows of ten numbers to scalar code.
"""
