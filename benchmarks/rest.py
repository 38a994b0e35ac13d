"""What it saves that tokens rest: whole lives with and without, in turns.

python benchmarks/rest.py            prints tables in Markdown (about ten minutes)
python benchmarks/rest.py small      one of small, large, million
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import parkade as pk
from parkade.base.types import Array

LIVES = (
    ("circle, β = 64", 2, 64.0, 200, 1e60),
    ("circle, β = 16", 2, 16.0, 200, 1e60),
    ("S², β = 9", 3, 9.0, 200, 1e30),
    ("d = 8, β = 8", 8, 8.0, 200, 1e30),
    ("circle, β = 64", 2, 64.0, 10_000, 1e60),
)

NEAR = 0.02
"""How near to a forecast merge clusters are counted, in units of its time."""


def small() -> None:
    """Lives of a few hundred tokens, with all steps saved, and one of 10 000 with the end only."""
    print("| tokens on | n | t | all move, s | some rest, s | ratio | left out | merges |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, d, beta, n, t_end in LIVES:
        model, x0 = pk.Attention(d, beta), pk.sphere.uniform(n, d, seed=1)
        times = "steps" if n <= 1000 else "final"
        best, runs = {False: np.inf, True: np.inf}, {}
        for _ in range(5 if n <= 1000 else 1):
            for rest in best:
                begun = time.perf_counter()
                runs[rest] = pk.simulate(model, x0, t_end, times=times, rest=rest)
                best[rest] = min(best[rest], time.perf_counter() - begun)
        agreement = f"{_agreement(runs):.0e}" if times == "steps" else ""
        print(
            f"| {name} | {n} | {t_end:.0e} | {best[False]:.3f} | {best[True]:.3f} "
            f"| **{best[False] / best[True]:.1f}** | {runs[True].stats.saved:.0%} | {agreement} |",
            flush=True,
        )


def _agreement(runs: dict[bool, pk.Trajectory]) -> float:
    """The largest relative difference of merge times after t = 100."""
    full, some = (runs[rest].merge_tree().arrivals for rest in (False, True))
    late = np.isfinite(full) & (full > 100)
    return float(np.abs(some[late] / full[late] - 1).max(initial=0.0))


def large() -> None:
    """100 000 tokens: to the plateau, and to the end of time."""
    _header()
    for name, d, beta, t_end in (("circle", 2, 64.0, 1e60), ("S²", 3, 32.0, 1e30)):
        _lives(name, d, beta, 10**5, t_end)


def million() -> None:
    """A million tokens on the circle; the number of clusters around the forecast's merges."""
    _header()
    _lives("circle", 2, 64.0, 10**6, 1e60)
    model, x0 = pk.Attention(2, 64.0), pk.sphere.uniform(10**6, 2, seed=1)
    forecast = pk.theory.forecast(x0, 64.0)
    merges = np.array([one.time for one in forecast.events if one.time > 300])
    times = np.sort(np.concatenate([merges * (1 - NEAR), merges * (1 + NEAR)]))
    run = pk.simulate(model, x0, 1e60, times=times)
    radius = pk.clusters.default_radius(model)
    print(f"\n| merge forecast for t | clusters at {1 - NEAR:g} t | at {1 + NEAR:g} t |")
    print("|---:|---:|---:|")
    for i, t in enumerate(merges):
        counts = [len(np.unique(pk.cluster_labels(run.tokens[2 * i + j], radius))) for j in (0, 1)]
        print(f"| {t:.4g} | {counts[0]} | {counts[1]} |")


def _header() -> None:
    print("| tokens on | n | t | steps | s | left out | clusters | peak memory, MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")


def _lives(name: str, d: int, beta: float, n: int, t_end: float) -> None:
    model, x0 = pk.Attention(d, beta), pk.sphere.uniform(n, d, seed=1)
    _compile(model, x0[:6000])
    for end in (50.0, t_end):
        times = np.geomspace(1.0, end, 13)
        begun = time.perf_counter()
        run = pk.simulate(model, x0, end, times=times, progress=True)
        seconds = time.perf_counter() - begun
        labels = pk.cluster_labels(run.final, pk.clusters.default_radius(model))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {name} | {n} | {end:.0e} | {run.stats.steps} | {seconds:.1f} "
            f"| {run.stats.saved:.0%} | {len(np.unique(labels))} | {peak:.0f} |",
            flush=True,
        )


def _compile(model: pk.Attention, x0: Array) -> None:
    pk.simulate(model, x0, 1e3, times="final", sums="harmonic")


if __name__ == "__main__":
    for table in sys.argv[1:] or ("small", "large", "million"):
        {"small": small, "large": large, "million": million}[table]()
        print()
