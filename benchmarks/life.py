"""How far an explicit code comes, and how far the implicit one: steps and seconds against T.

    python benchmarks/life.py            prints two tables in Markdown

The run is the paper's: circle, Q = K = V = I, n = 200, β = 64, seed 1, tol 1e-6. Explicit
runs beyond T = 1e4 are extrapolated from the last decade measured, whose steps are bound by
stability and so grow like T.
"""

from __future__ import annotations

import time

import numpy as np

import parkade as pk
from parkade.base.types import Array
from parkade.engine.compile import threads
from parkade.engine.steps.clock import STEP
from parkade.engine.steps.integrator import Goal, Steps
from parkade.engine.steps.methods import METHODS
from parkade.engine.system import unrolled
from parkade.solve.lowering.lower import prepare
from parkade.solve.options import Method

MEASURED = 1e4


def horizons() -> None:
    """Steps and seconds of both methods as T grows."""
    model, x0 = pk.Attention(d=2, beta=64.0), pk.sphere.uniform(200, 2, seed=1)
    print("| T | Dormand–Prince steps | seconds | RODAS4P steps | seconds | time ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    steps, seconds, last = 0.0, 0.0, 1.0
    for t_end in (1e2, 3e2, 1e3, 3e3, 1e4, 1e6, 1e12, 1e30, 1e60):
        mark = ""
        if t_end <= MEASURED:
            steps, seconds = _cost(model, x0, t_end, "explicit")
            last = t_end
        else:
            mark = "~"
        scale = t_end / last
        implicit = _cost(model, x0, t_end, "implicit")
        ratio = seconds * scale / implicit[1]
        print(
            f"| {t_end:.0e} | {mark}{steps * scale:.3g} | {mark}{seconds * scale:.2g} "
            f"| {implicit[0]} | {implicit[1]:.2g} | {mark}{ratio:.2g} |"
        )


def _cost(model: pk.Attention, x0: Array, t_end: float, method: Method) -> tuple[int, float]:
    runs = [pk.simulate(model, x0, t_end, times="final", method=method) for _ in range(3)]
    return runs[0].stats.steps, min(run.stats.seconds for run in runs)


def step_costs() -> None:
    """Seconds of one step of either method, over the dimension."""
    print("| d | Dormand–Prince, µs per step | RODAS4P, µs per step | ratio (target: 3) |")
    print("|---|---:|---:|---:|")
    for d in (2, 3, 4, 6, 8, 12, 16):
        model, x0 = pk.Attention(d, beta=16.0), pk.sphere.uniform(200, d, seed=1)
        best = [np.inf, np.inf]
        for _ in range(25):  # in turns: the clock of the machine varies
            for i, method in enumerate(("explicit", "implicit")):
                best[i] = min(best[i], _step(model, x0, method))
        print(f"| {d} | {1e6 * best[0]:.0f} | {1e6 * best[1]:.0f} | {best[1] / best[0]:.2f} |")


def _step(model: pk.Attention, x0: Array, method: str) -> float:
    """Seconds of a fixed step, without choosing, recording or checking anything."""
    engine = METHODS[method]
    n, d = x0.shape
    count, t_end = 20, 1.0
    system, dims = prepare(model), unrolled(d)
    goal, dense = Goal(t_end, 1e-6, fixed=True), np.empty((count, engine.dense, n, d))
    steps = Steps(np.empty(count), np.empty((count, n, d)), dense)
    with threads.single_threaded_blas():
        x, work = x0.copy(), engine.workspace(n, d, causal=True)
        work.clock[STEP] = t_end / count
        begun = time.perf_counter()
        engine.advance(system, dims, x, work, goal, steps)
        return (time.perf_counter() - begun) / count


if __name__ == "__main__":
    horizons()
    print()
    step_costs()
