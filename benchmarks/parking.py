"""Rényi parking of up to a million tokens against NumPy, in seconds and as a ratio.

    python benchmarks/parking.py            prints a table in Markdown

The baseline is the plain loop in NumPy: the next token that is not blocked is a centre, and
blocks all tokens within δ, so m centres take mn distances. It is measured over its first
centres, for a second or so, and extrapolated (marked ~) to all m of them: each costs the same.
"""

from __future__ import annotations

import math
import time

import numpy as np

import parkade as pk
from parkade.base.types import Array

CASES = {"circle": (2, (1e-7, 1e-3, 0.5, 3.0)), "S²": (3, (1e-3, 1e-2, 0.5))}
PATIENCE = 1.0


def table() -> None:
    """Seconds of both over n and δ."""
    print("| tokens on | n | δ | centres | strong | parkade, s | strong, s | NumPy, s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for place, (d, deltas) in CASES.items():
        for delta in deltas:
            for n in (10**4, 10**5, 10**6):
                x = pk.sphere.uniform(n, d, seed=1)
                pk.renyi_centers(x[:100], delta)  # compiles
                spent, strong_spent = math.inf, math.inf
                for _ in range(3):
                    begun = time.perf_counter()
                    centers = pk.renyi_centers(x, delta)
                    middle = time.perf_counter()
                    strong = pk.strong_renyi_centers(x, delta)
                    spent = min(spent, middle - begun)
                    strong_spent = min(strong_spent, time.perf_counter() - middle)
                slow, mark = baseline(x, delta, len(centers))
                print(
                    f"| {place} | {n:.0e} | {delta:g} | {len(centers)} | {len(strong)} "
                    f"| {spent:.2g} | {strong_spent:.2g} | {mark}{slow:.2g} "
                    f"| {mark}{slow / spent:.2g} |"
                )


def baseline(x: Array, delta: float, total: int) -> tuple[float, str]:
    """Seconds of the loop in NumPy, and "~" if they are extrapolated."""
    begun = time.perf_counter()
    blocked = np.zeros(len(x), dtype=bool)
    done = 0
    for k in range(len(x)):
        if blocked[k]:
            continue
        blocked |= x @ x[k] >= math.cos(delta)  # not exact for small δ, but NumPy's fastest
        done += 1
        if time.perf_counter() - begun > PATIENCE and done < total:
            return (time.perf_counter() - begun) * total / done, "~"
    return time.perf_counter() - begun, ""


if __name__ == "__main__":
    table()
