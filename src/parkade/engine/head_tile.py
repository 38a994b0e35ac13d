"""One tile of attention of a narrow head: `LANES` queries side by side, looping over the keys.

As in `simd`, the loop is written in LLVM IR, so that scores, weights and sums stay in registers.
It takes queries and values of up to `NARROW` components, and scores between -1022 and 1023 relative
to that of a token with itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from parkade.engine.emit import (
    DOUBLE,
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
from parkade.engine.simd import LANES, emit_exp2

NARROW = 4
"""Heads with more components have too many sums for the registers."""

QUERY, KEY, FIRST, END, PLACE = 0, NARROW, 2 * NARROW, 2 * NARROW + 1, 2 * NARROW + 2
TOTALS = PLACE + 1
ROWS = TOTALS + NARROW + 1
"""A block has so many rows: queries, their own keys, what they see, where they are, and sums."""


def _make_tile(*, causal: bool = False, masked: bool = False) -> Any:
    @intrinsic
    def tile(typing_context: Any, block: Any, packed: Any, j0: Any, j1: Any, dims: Any) -> Any:
        p = len(dims)
        signature = types.void(block, packed, types.int64, types.int64, dims)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def data(i: int) -> Any:
                return context.make_array(signature.args[i])(context, builder, args[i]).data

            lanes = vector(LANES)
            slots, rows = builder.bitcast(data(0), lanes.as_pointer()), data(1)

            def slot(i: int) -> Any:
                return builder.gep(slots, [ir.Constant(INT64, i)])

            def load(i: int) -> Any:
                return builder.load(slot(i), align=8)

            query = [load(QUERY + c) for c in range(p)]

            def product(keys: list[Any]) -> Any:
                score = multiply(builder, query[0], keys[0])
                for c in range(1, p):
                    score = fma(builder, query[c], keys[c], score)
                return score

            # The same operations as below: the weight of an equal token is exactly 1.
            own = product([load(KEY + c) for c in range(p)])

            def key(j: Any, sums: list[Any]) -> list[Any]:
                row = builder.gep(rows, [builder.mul(j, ir.Constant(INT64, 2 * p))])
                seen = [
                    splat(builder, builder.load(builder.gep(row, [ir.Constant(INT64, c)])), LANES)
                    for c in range(2 * p)
                ]
                score = subtract(builder, product(seen[:p]), own)
                weight = emit_exp2(builder, score, bounded=True)
                edges = {">=": PLACE} if causal else {"<": FIRST, ">=": END, "==": PLACE}
                for sign, edge in edges.items() if causal or masked else ():
                    at = splat(builder, builder.sitofp(j, DOUBLE), LANES)
                    hidden = builder.fcmp_ordered(sign, at, load(edge))
                    weight = builder.select(hidden, constant(0.0, lanes), weight)
                grown = [fma(builder, weight, seen[p + c], sums[c]) for c in range(p)]
                grown.append(add(builder, sums[p], weight))
                return grown

            begin = [load(TOTALS + c) for c in range(p + 1)]
            for c, sums in enumerate(loop(builder, args[2], args[3], 1, begin, key)):
                builder.store(sums, slot(TOTALS + c), align=8)
            return context.get_dummy_value()

        return signature, generate

    return tile


# Arguments: (block, packed, j0, j1, dims). `block` is a flat array of `ROWS` rows of LANES numbers.
# Row j of `packed` has the p components of a key, then those of its value, and `dims` is a tuple of
# length p, which makes p a constant to the compiler. Adds Σ w v_j and, last, Σ w to the sums.
tile_plain = _make_tile()
tile_causal = _make_tile(causal=True)  # only keys before PLACE
tile_masked = _make_tile(masked=True)  # only keys from FIRST on, before END, and not at PLACE
