"""The peak rate of multiply-adds of this machine, with which the kernels are compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

_LANES = 8  # two AVX2 registers, or one of AVX-512
_CHAINS = (6, 12)  # fills the pipelines of AVX2 and of AVX-512 machines without a spill
_ROUNDS = 200_000


def multiply_adds(threads: int, repetitions: int = 10) -> float:
    """Best multiply-adds per second of `threads` threads together, in float64."""
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for chains in _CHAINS:
            kernel = _kernel(chains)
            # Below 1, so that m·x + m stays bounded; a block of numbers for each thread.
            starts = np.random.default_rng(0).uniform(0.1, 0.5, (threads, (chains + 1) * _LANES))
            list(pool.map(kernel, starts, [1] * threads))
            for _ in range(repetitions):
                begun = time.perf_counter()
                list(pool.map(kernel, starts, [_ROUNDS] * threads))
                seconds = time.perf_counter() - begun
                best = max(best, threads * chains * _LANES * _ROUNDS / seconds)
    return best


@cache
def _kernel(chains: int) -> Callable[[Any, int], None]:
    """A loop of `chains` independent vectors x ← m·x + m, all kept in registers.

    Written in LLVM IR because a loop over an array would load and store at each turn.
    """
    from llvmlite import ir
    from numba import njit, types
    from numba.extending import intrinsic

    vector, integer = ir.VectorType(ir.DoubleType(), _LANES), ir.IntType(64)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        data = builder.bitcast(array.data, vector.as_pointer())
        slots = [builder.gep(data, [ir.Constant(integer, i)]) for i in range(chains + 1)]
        factor, *start = (builder.load(slot, align=8) for slot in slots)
        before = builder.block
        loop, done = builder.append_basic_block("loop"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(integer)
        values = [builder.phi(vector) for _ in start]
        products = [builder.fmul(v, factor, flags=("contract",)) for v in values]
        grown = [builder.fadd(p, factor, flags=("contract",)) for p in products]
        following = builder.add(i, ir.Constant(integer, 1))
        i.add_incoming(ir.Constant(integer, 0), before)
        i.add_incoming(following, loop)
        for value, first, then in zip(values, start, grown, strict=True):
            value.add_incoming(first, before)
            value.add_incoming(then, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[1]), loop, done)
        builder.position_at_end(done)
        for slot, value in zip(slots[1:], grown, strict=True):
            builder.store(value, slot, align=8)
        return context.get_dummy_value()

    @intrinsic
    def turn(typing_context: Any, numbers: Any, rounds: Any) -> Any:
        return types.void(numbers, types.int64), emit

    @njit()
    def kernel(numbers: Any, rounds: int) -> None:
        turn(numbers, rounds)  # type: ignore[call-arg]  # Numba passes the typing context

    compiled: Callable[[Any, int], None] = kernel
    return compiled
