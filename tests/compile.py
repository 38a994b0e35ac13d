"""Compile the engines before the tests, on all cores, and not once in each of their processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import parkade as pk

LONGEST_FIRST = (3, 2, 8, 4, 6, 5, 7)
"""Dimensions: each up to 7 has machine code of its own, and those from 8 on share theirs."""


def compile_for(d):
    """Take a few steps in every way there is in this dimension."""
    x0 = pk.sphere.uniform(4, d, seed=1)
    for method in ("explicit", "implicit"):
        pk.simulate(pk.Attention(d), x0, 0.1, method=method)
    if d <= 3:
        pk.simulate(pk.Attention(d), x0, 0.1, sums="harmonic")


if __name__ == "__main__":
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_for, LONGEST_FIRST))
