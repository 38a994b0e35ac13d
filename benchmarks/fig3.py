"""Figure 3's ensemble against the field's usual script, per run, in one command.

    python benchmarks/fig3.py            prints a table in Markdown

n = 200, d = 2, β = 64, to t = 150. The baseline is NumPy with Euler steps of 0.05 and a
normalisation after each, one run after another (NumPy uses the cores as it likes). Parkade
runs `ensemble` with 61 times, consumption and centres, on all cores and on one, with harmonic
sums, which it chooses itself, and with direct ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import parkade as pk
from parkade.bench import baselines
from parkade.experiments.claims.common.census import BETA, END, RADIUS, N
from parkade.experiments.figures import fig3
from parkade.solve.options import SumsOption
from parkade.theory.paper import DELTA

RUNS, ROUNDS = 400, 4


def main() -> None:
    """Race them in turns, and let the best round of each count."""
    model = pk.Attention(d=2, beta=BETA)

    def ensemble(runs: int, workers: int | None, sums: SumsOption = "auto") -> float:
        begun = time.perf_counter()
        pk.ensemble(
            model, n=N, runs=runs, t_end=END, times=fig3.TIMES,
            measure=("consumption", "centers"), delta=DELTA, radius=RADIUS, workers=workers,
            sums=sums,
        )  # fmt: skip
        return (time.perf_counter() - begun) / runs

    def script() -> float:
        begun = time.perf_counter()
        baselines.euler(pk.sphere.uniform(N, 2, 1), BETA, END)
        return time.perf_counter() - begun

    racers: dict[str, Callable[[], float]] = {
        "NumPy, Euler 0.05": script,
        "parkade, all cores": lambda: ensemble(RUNS, None),
        "parkade, one core": lambda: ensemble(RUNS // 4, 1),
        "parkade with direct sums, all cores": lambda: ensemble(RUNS, None, "direct"),
    }
    ensemble(10, None)  # compiles
    best = dict.fromkeys(racers, math.inf)
    for _ in range(ROUNDS):
        for name, run in racers.items():
            best[name] = min(best[name], run())
    print("| | ms per run | ratio (target: 150) |")
    print("|---|---:|---:|")
    for name, value in best.items():
        ratio = best["NumPy, Euler 0.05"] / value
        print(f"| {name} | {1e3 * value:.1f} | {ratio:.0f} |")


if __name__ == "__main__":
    main()
