"""One tile of attention of a narrow head: `LANES` queries side by side, looping over the keys.

As in `simd`, the loop is written in LLVM IR, so that scores, weights and sums stay in registers.
It takes queries and values of up to `NARROW` components, and scores between -1022 and 1023 relative
to that of a token with itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from parkade.engine.compile import wide
from parkade.engine.compile.emit import (
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
from parkade.engine.compile.simd import LANES, MAX_SCORE, emit_exp2

NARROW = 8
"""Heads with more components have far too many sums for the registers."""

_IN_PAGES = 4
"""Heads have no more components in pages, whose tokens have three at most: less to load."""

FIRST, END, PLACE = range(3)
EDGES = 3
"""Rows of `edges`: the first key that a query sees, the end of those, and where it is itself."""

HEAD, KEYS, VALUES, TOKEN, COLUMN, BOUNDS = range(6)
PLAN = BOUNDS + 7
"""Size of a plan: the head, the components of its keys and values, the first query and
its column in `out`, and bounds."""

AT_ONCE = 4
"""Keys that are taken at once: more work that need not wait for other work."""

_KIND = ir.FunctionType(
    ir.IntType(1),
    [*[DOUBLE.as_pointer()] * 5, INT64.as_pointer(), DOUBLE, *[INT64] * 4],
)


def _write(p: int, size: int, function: Any) -> None:
    """Write the body of the function for up to p components, with vectors of this size."""
    builder = ir.IRBuilder(function.append_basic_block())
    queries, keys, values, out, edges, plan, reach, width, count, ranks, columns = function.args
    lanes = vector(size)
    zero, one = constant(0.0, lanes), constant(1.0, lanes)

    def number(value: int) -> Any:
        return ir.Constant(INT64, value)

    def planned(i: Any) -> Any:
        return builder.load(builder.gep(plan, [i]))

    def lanes_at(base: Any, at: Any) -> Any:
        return builder.bitcast(builder.gep(base, [at]), lanes.as_pointer())

    def load(base: Any, at: Any) -> Any:
        return builder.load(lanes_at(base, at), align=8)

    head, m, r, first, column = (planned(number(i)) for i in (HEAD, KEYS, VALUES, TOKEN, COLUMN))

    def rows(base: Any, components: Any, total: Any) -> list[Any]:
        """Where the components of the head begin; if it has fewer than p, any others."""
        starts, most = [], builder.sub(total, number(1))
        for c in range(p):
            at = builder.add(builder.mul(head, components), number(c))
            at = builder.select(builder.icmp_signed("<", at, most), at, most)
            starts.append(builder.gep(base, [builder.mul(at, width)]))
        return starts

    query_rows, key_rows = rows(queries, m, count), rows(keys, m, count)
    value_rows = rows(values, r, ranks)

    def group(offset: Any, _: list[Any]) -> list[Any]:
        """The queries from `offset` on."""
        token = builder.add(first, offset)
        query = [
            builder.select(builder.icmp_signed("<", number(c), m), load(base, token), zero)
            for c, base in enumerate(query_rows)
        ]

        def product(others: list[Any], begin: Any) -> Any:
            for mine, other in zip(query, others, strict=True):
                begin = fma(builder, mine, other, begin)
            return begin

        own = product([load(base, token) for base in key_rows], zero)
        start = subtract(builder, zero, own)

        # |q| reach + |own| ≤ MAX_SCORE for all of them, and no NaN.
        larger = builder.select(builder.fcmp_ordered(">", own, zero), own, start)
        most = subtract(builder, constant(MAX_SCORE, lanes), larger)
        square = splat(builder, multiply(builder, reach, reach), size)
        farthest = multiply(builder, product(query, zero), square)
        fits = builder.and_(
            builder.fcmp_ordered(">=", most, zero),
            builder.fcmp_ordered("<=", farthest, multiply(builder, most, most)),
        )
        bits = ir.IntType(size)
        missing = builder.icmp_unsigned("!=", builder.bitcast(fits, bits), ir.Constant(bits, -1))
        with builder.if_then(missing, likely=False):
            builder.ret(ir.Constant(ir.IntType(1), 0))

        def seen(bases: list[Any], j: Any) -> list[Any]:
            return [splat(builder, builder.load(builder.gep(base, [j])), size) for base in bases]

        def visible(j: Any, weight: Any) -> Any:
            at = splat(builder, builder.sitofp(j, DOUBLE), size)
            for sign, edge in (("<", FIRST), (">=", END), ("==", PLACE)):
                limit = load(edges, builder.add(offset, number(edge * LANES)))
                hidden = builder.fcmp_ordered(sign, at, limit)
                weight = builder.select(hidden, zero, weight)
            return weight

        def step(j: Any, sums: list[Any], *, masked: bool) -> list[Any]:
            places = [builder.add(j, number(i)) for i in range(AT_ONCE)]
            scores = [product(seen(key_rows, at), start) for at in places]
            weights = emit_exp2(builder, _join(builder, scores), bounded=True)
            for i, at in enumerate(places):
                part = _indices(range(i * size, (i + 1) * size))
                weight = builder.shuffle_vector(weights, weights, part)
                weight = visible(at, weight) if masked else weight
                shown = seen(value_rows, at)
                sums = [
                    *(fma(builder, weight, v, s) for v, s in zip(shown, sums[:p], strict=True)),
                    add(builder, sums[p], weight),
                ]
            return sums

        def stretch(i: Any, sums: list[Any]) -> list[Any]:
            begin, middle, end = (planned(builder.add(i, number(BOUNDS + e))) for e in range(3))
            sums = loop(builder, begin, middle, AT_ONCE, sums, partial(step, masked=True))
            return loop(builder, middle, end, AT_ONCE, sums, partial(step, masked=False))

        *sums, total = loop(builder, number(0), number(6), 2, [zero] * (p + 1), stretch)
        scale = builder.fdiv(one, add(builder, total, one))
        minus = subtract(builder, zero, total)
        for c in range(p):
            with builder.if_then(builder.icmp_signed("<", number(c), r)):
                pulled = fma(builder, minus, load(value_rows[c], token), sums[c])
                row = builder.mul(builder.add(builder.mul(head, r), number(c)), columns)
                at = builder.add(builder.add(row, column), offset)
                builder.store(multiply(builder, scale, pulled), lanes_at(out, at), align=8)
        return []

    loop(builder, number(0), number(LANES), size, [], group)
    builder.ret(ir.Constant(ir.IntType(1), 1))


def _join(builder: Any, vectors: list[Any]) -> Any:
    """One vector of all, whose number is a power of two."""
    while len(vectors) > 1:
        both = _indices(range(2 * vectors[0].type.count))
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [builder.shuffle_vector(*pair, both) for pair in pairs]
    return vectors[0]


def _indices(lanes: range) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))


@intrinsic
def _tile(
    typing_context: Any, projections: Any, out: Any, edges: Any, plan: Any, reach: Any, dims: Any
) -> Any:
    p = len(dims)
    shown = [projections.fields.index(name) for name in ("queries", "keys", "values")]
    signature = types.boolean(projections, out, edges, plan, types.float64, dims)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = [*(projections.types[i] for i in shown), out, edges, plan]
        parts = [*(builder.extract_value(args[0], i) for i in shown), *args[1:4]]
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(kinds, parts, strict=True)
        ]
        _, keys, values, target, *_ = (array.shape for array in arrays)
        sizes = [(keys, 1), (keys, 0), (values, 0), (target, 1)]
        pointers = [array.data for array in arrays]
        pointers += [args[4], *(builder.extract_value(shape, axis) for shape, axis in sizes)]
        if p > _IN_PAGES and str(builder.module.triple).startswith("wasm"):
            return ir.Constant(ir.IntType(1), 0)
        return wide.call(builder, f"head{p}", _KIND, partial(_write, p), pointers)

    return signature, generate


tile: Any = _tile
"""Set ν of a head for `LANES` tokens; False if their scores may be too large.

Arguments: (projections, out, edges, plan, reach, dims). `out` is (H r, columns), and `dims` a
tuple of length p, which makes p a constant to the compiler; the head has no more components. The
plan has seven bounds b: from b0 to b1, b2 to b3 and b4 to b5, keys are compared with the edges;
from b1 to b2, b3 to b4 and b5 to b6, all queries see all keys. Each number of keys is a multiple
of `AT_ONCE`.
"""
