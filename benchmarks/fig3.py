"""Figure 3's ensemble against the field's usual script, per run, in one command.

    python benchmarks/fig3.py            prints a table in Markdown

n = 200, d = 2, β = 64, to t = 150. The baseline is NumPy with Euler steps of 0.05 and a
normalisation after each, one run after another (NumPy uses the cores as it likes). Parkade
runs `ensemble` with 61 times, consumption and centres, on all cores and on one, with harmonic
sums, which it chooses itself, and with direct ones.
"""

from __future__ import annotations

import time

import parkade as pk
from parkade.bench import baselines
from parkade.claims.census import BETA, DELTA, END, RADIUS, N
from parkade.paper import fig3
from parkade.sums import SumsOption

RUNS, SCRIPT_RUNS = 400, 3


def main() -> None:
    """Race both."""
    model = pk.Attention(d=2, beta=BETA)

    def ensemble(runs: int, workers: int | None, sums: SumsOption = "auto") -> float:
        begun = time.perf_counter()
        pk.ensemble(
            model, n=N, runs=runs, t_end=END, times=fig3.TIMES,
            measure=("consumption", "centers"), delta=DELTA, radius=RADIUS, workers=workers,
            sums=sums,
        )  # fmt: skip
        return (time.perf_counter() - begun) / runs

    ensemble(10, None)  # compiles
    seconds = {
        "parkade, all cores": ensemble(RUNS, None),
        "parkade, one core": ensemble(100, 1),
        "parkade with direct sums, all cores": ensemble(RUNS // 2, None, "direct"),
    }
    begun = time.perf_counter()
    for seed in range(SCRIPT_RUNS):
        baselines.euler(pk.sphere.uniform(N, 2, seed), BETA, END)
    script = (time.perf_counter() - begun) / SCRIPT_RUNS
    print("| | ms per run | ratio (bar: 150) |")
    print("|---|---:|---:|")
    print(f"| NumPy, Euler 0.05 | {1e3 * script:.0f} | 1 |")
    for name, value in seconds.items():
        print(f"| {name} | {1e3 * value:.1f} | {script / value:.0f} |")


if __name__ == "__main__":
    main()
