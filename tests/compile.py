"""Compile the engines once before the tests, on all cores, not once in each test process."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from parkade.solve.warmup import compile_engine

LONGEST_FIRST = (3, 2, 8, 4, 6, 5, 7)


def compile_for(d):
    """Compile both engines of this dimension."""
    for method in ("explicit", "implicit"):
        compile_engine((method, d))


if __name__ == "__main__":
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_for, LONGEST_FIRST))
