"""What is measured, and how: each case alternates between parkade and its baselines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parkade import sphere
from parkade.attention import Attention
from parkade.bench import baselines
from parkade.bench.peak import multiply_adds
from parkade.flow import simulate


@dataclass(frozen=True)
class Result:
    """One case: the best times in seconds, the ratio aimed at, and what else was found."""

    case: str
    baseline: str
    baseline_seconds: float
    parkade_seconds: float
    target: float
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times faster parkade is."""
        return self.baseline_seconds / self.parkade_seconds


def velocity_batch(quick: bool) -> Result:
    """One velocity of many small systems (Figure 3 runs thousands of them), on one thread."""
    from parkade.engine import threads, velocity
    from parkade.engine.system import prepare, unrolled

    systems, n, d, beta = 8 if quick else 64, 200, 2, 64.0
    x = np.stack([sphere.uniform(n, d, seed=s) for s in range(systems)])
    out = np.empty_like(x)
    system, dims = prepare(Attention(d, beta)), unrolled(d)
    with threads.single_threaded_blas():
        ours, *others = _race(
            lambda: velocity.velocity_batch(system, dims, x, out),
            lambda: baselines.velocity(x, beta),
            lambda: [baselines.velocity(one, beta) for one in x],
            quick=quick,
        )
        details = _per_pair(d, systems * n * (n + 1) / 2, ours, min(others), multiply_adds(1))
    # NumPy is written in both usual ways; the faster one is the baseline.
    names = ("NumPy, one batch", "NumPy, system by system")
    name = names[int(np.argmin(others))]
    return Result("velocity-batch", name, min(others), ours, 25, details)


def run(quick: bool) -> Result:
    """A whole run of Figure 2 at tol 1e-6 against the usual Euler script, on one thread."""
    from parkade.engine import threads

    n, d, beta, t_end = 200, 2, 64.0, 7.5 if quick else 150.0
    model, x0 = Attention(d, beta), sphere.uniform(n, d, seed=1)
    with threads.single_threaded_blas():
        ours, other = _race(
            lambda: simulate(model, x0, t_end, times="final"),
            lambda: baselines.euler(x0, beta, t_end),
            quick=quick,
        )
        exact = simulate(model, x0, t_end, times="final", tol=1e-11).final
        error = sphere.distance(exact, simulate(model, x0, t_end, times="final").final)
        euler = sphere.distance(exact, baselines.euler(x0, beta, t_end))
    details = {
        "parkade_error_max": float(np.max(error)),
        "parkade_error_mean": float(np.mean(error)),
        "baseline_error_max": float(np.max(euler)),
        "baseline_error_mean": float(np.mean(euler)),
    }
    return Result("run", "NumPy, Euler, step 0.05", other, ours, 40, details)


def velocity_large_d(quick: bool) -> Result:
    """One velocity of one large system in many dimensions, on all cores."""
    from parkade.engine import threads
    from parkade.engine.system import prepare
    from parkade.engine.velocity import velocity

    n, d, beta = 512 if quick else 4096, 64, 8.0
    x = sphere.uniform(n, d, seed=1)
    system, cores = prepare(Attention(d, beta)), threads.cores()

    def parkade() -> None:
        with threads.single_threaded_blas():  # as in simulate: our threads share out the tiles
            velocity(system, x)

    ours, other = _race(parkade, lambda: baselines.velocity(x, beta), quick=quick)
    details = _per_pair(d, n * (n + 1) / 2, ours, other, multiply_adds(cores))
    return Result("velocity-large-d", "NumPy, all cores", other, ours, 3, details)


CASES: dict[str, Callable[[bool], Result]] = {
    "velocity-batch": velocity_batch,
    "run": run,
    "velocity-large-d": velocity_large_d,
}
"""The cases by name; each takes whether to be quick."""


def _per_pair(d: int, pairs: float, ours: float, other: float, peak: float) -> dict[str, float]:
    """Nanoseconds per pair (token, token attended to), and the least that arithmetic allows.

    A pair costs d multiply-adds for its score, 10 for the polynomial of the exponential
    and one multiplication by a power of two, and d multiply-adds for the weighted sum. All
    of these need the multipliers; additions and integer work run beside them.
    """
    limit = (2 * d + 11) / peak
    return {
        "parkade_ns_per_pair": 1e9 * ours / pairs,
        "baseline_ns_per_pair": 1e9 * other / pairs,
        "limit_ns_per_pair": 1e9 * limit,
        "share_of_limit": limit * pairs / ours,
        "peak_gflops": 2e-9 * peak,  # a multiply-add is two operations
    }


def _race(*functions: Callable[[], Any], quick: bool) -> Sequence[float]:
    """Best seconds of each function, called in turns so that noise hits all of them."""
    budget, least = (0.02, 2) if quick else (1.0, 5)
    for function in functions:
        function()  # compile, load, fill the caches
    best = [_seconds(function) for function in functions]
    # A short call is repeated within its turn: its data is then in the cache, as in a run.
    turns = [max(1, int((0.002 if quick else 0.02) / seconds)) for seconds in best]
    spent = [0.0] * len(functions)
    rounds = 0
    while rounds < least or max(spent) < budget:
        for i, function in enumerate(functions):
            for _ in range(turns[i]):
                seconds = _seconds(function)
                best[i] = min(best[i], seconds)
                spent[i] += seconds
        rounds += 1
    return best


def _seconds(function: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun
