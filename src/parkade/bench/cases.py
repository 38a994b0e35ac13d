"""What is measured, and how: each case alternates between parkade and its baselines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parkade.bench import baselines
from parkade.engine.compile.peak import multiply_adds
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate


@dataclass(frozen=True)
class Result:
    """One case: the best times in seconds, the target for the ratio, and other measurements."""

    case: str
    baseline: str
    baseline_seconds: float
    parkade_seconds: float
    target: float
    details: Mapping[str, float] = field(default_factory=dict)
    sums: str = ""  # how parkade sums, and why

    @property
    def ratio(self) -> float:
        """How many times faster parkade is."""
        return self.baseline_seconds / self.parkade_seconds


def velocity_batch(quick: bool) -> Result:
    """One velocity of many small systems (Figure 3 runs thousands of them), on one thread."""
    from parkade.engine.compile import threads
    from parkade.engine.flow import velocity
    from parkade.engine.system import unrolled
    from parkade.solve.lowering.lower import prepare
    from parkade.solve.options import Options, Problem
    from parkade.solve.planning import sums

    systems, n, d, beta = 8 if quick else 64, 200, 2, 64.0
    x = np.stack([sphere.uniform(n, d, seed=s) for s in range(systems)])
    out = np.empty_like(x)
    chosen = sums.choose(Problem.of(Attention(d, beta), Options(1.0)), n)
    system = prepare(Attention(d, beta), table=chosen.table, accuracy=chosen.accuracy)
    dims = unrolled(d)
    with threads.single_threaded_blas():
        ours, *others = _race(
            lambda: velocity.velocity_batch(system, dims, x, out),
            lambda: baselines.velocity(x, beta),
            lambda: [baselines.velocity(one, beta) for one in x],
            quick=quick,
        )
    exact = np.stack([baselines.velocity(one, beta) for one in x])
    details = {
        "ns_per_token": 1e9 * ours / (systems * n),
        "error_max": float(np.abs(out - exact).max()),
    }
    # NumPy code is written in two ways; the faster one is the baseline.
    names = ("NumPy, one batch", "NumPy, system by system")
    name = names[int(np.argmin(others))]
    why = f"{chosen.describe(d)}: {chosen.reason}"
    return Result("velocity-batch", name, min(others), ours, 25, details, why)


def run(quick: bool) -> Result:
    """A whole run of Figure 2 at tol 1e-6 against the usual Euler script, on one thread."""
    from parkade.engine.compile import threads

    n, d, beta, t_end = 200, 2, 64.0, 7.5 if quick else 150.0
    model, x0 = Attention(d, beta), sphere.uniform(n, d, seed=1)
    with threads.single_threaded_blas():
        ours, other = _race(
            lambda: simulate(model, x0, t_end, times="final"),
            lambda: baselines.euler(x0, beta, t_end),
            quick=quick,
        )
        exact = simulate(model, x0, t_end, times="final", tol=1e-11).final
        ran = simulate(model, x0, t_end, times="final")
        error = sphere.distance(exact, ran.final)
        euler = sphere.distance(exact, baselines.euler(x0, beta, t_end))
    details = {
        "parkade_error_max": float(np.max(error)),
        "parkade_error_mean": float(np.mean(error)),
        "baseline_error_max": float(np.max(euler)),
        "baseline_error_mean": float(np.mean(euler)),
    }
    why = f"{ran.stats.engine}: {ran.stats.sums_reason}"
    return Result("run", "NumPy, Euler, step 0.05", other, ours, 40, details, why)


def velocity_large_d(quick: bool) -> Result:
    """One velocity of one large system in many dimensions, on all cores."""
    from parkade.engine.compile import threads
    from parkade.engine.flow.velocity import velocity
    from parkade.solve.lowering.lower import prepare

    n, d, beta = 512 if quick else 4096, 64, 8.0
    x = sphere.uniform(n, d, seed=1)
    system, cores = prepare(Attention(d, beta)), threads.cores()

    def parkade() -> None:
        with threads.single_threaded_blas():  # as in simulate: our threads share the tiles
            velocity(system, x)

    ours, other = _race(parkade, lambda: baselines.velocity(x, beta), quick=quick)
    details = _per_pair(d, n * (n + 1) / 2, ours, other, multiply_adds(cores))
    why = "direct sums, BLAS: harmonic sums exist for d = 2 and 3 only"
    return Result("velocity-large-d", "NumPy, all cores", other, ours, 3, details, why)


def velocity_circle(quick: bool) -> Result:
    """One velocity of a million tokens on the circle, on all cores."""
    return _linear("velocity-circle", 2, 64.0, 2000, quick)


def velocity_sphere(quick: bool) -> Result:
    """One velocity of a million tokens on the sphere S², on all cores."""
    return _linear("velocity-sphere", 3, 9.0, 300, quick)


def _linear(case: str, d: int, beta: float, target: float, quick: bool) -> Result:
    """Harmonic sums against parkade's own direct sums, which are timed for some of the rows."""
    from parkade.engine.compile import threads
    from parkade.engine.flow.velocity import velocity
    from parkade.engine.sums import pairwise
    from parkade.engine.system import unrolled
    from parkade.solve.lowering.lower import prepare
    from parkade.solve.options import Options, Problem
    from parkade.solve.planning import sums

    n, parts = 20_000 if quick else 1_000_000, 8
    model, x = Attention(d, beta), sphere.uniform(n, d, seed=1)
    chosen = sums.choose(Problem.of(model, Options(1.0)), n)
    system = prepare(model, table=chosen.table, accuracy=chosen.accuracy)
    direct, dims, out = prepare(model), unrolled(d), np.empty_like(x)
    # The cost of a row grows with the tokens before it: take rows from all parts of the sequence.
    starts = [(2 * i + 1) * n // (2 * parts) - pairwise.CHUNK // 2 for i in range(parts)]
    rows = [(k, k + pairwise.CHUNK) for k in starts]

    def some_rows() -> None:
        threads.share_out((pairwise.velocity_rows, direct, dims, x, *row, out) for row in rows)

    ours, part = _race(lambda: velocity(system, x), some_rows, quick=quick)
    fast = velocity(system, x)
    error = max(float(np.abs(fast[lo:hi] - out[lo:hi]).max()) for lo, hi in rows)
    whole = part * n / (parts * pairwise.CHUNK)
    details = {"ns_per_token": 1e9 * ours / n, "part_seconds": part, "error_max": error}
    why = f"{chosen.describe(d)}: {chosen.reason}"
    return Result(case, "direct sums, extrapolated", whole, ours, target, details, why)


CASES: dict[str, Callable[[bool], Result]] = {
    "velocity-batch": velocity_batch,
    "run": run,
    "velocity-large-d": velocity_large_d,
    "velocity-circle": velocity_circle,
    "velocity-sphere": velocity_sphere,
}
"""The cases by name; each is a function of `quick`."""


def _per_pair(d: int, pairs: float, ours: float, other: float, peak: float) -> dict[str, float]:
    """Nanoseconds per pair (token, token it attends to), and the least that arithmetic allows.

    A pair costs d multiply-adds for its score, 10 for the polynomial of the exponential
    and one multiplication by a power of two, and d multiply-adds for the weighted sum. All
    of these need the multipliers; additions and integer operations run in parallel.
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
    """Best seconds of each function, called in turn so that noise affects all of them."""
    budget, least = (0.02, 2) if quick else (1.0, 5)
    for function in functions:
        function()  # compile, load, fill the caches
    best = [_seconds(function) for function in functions]
    # A short call is repeated within its turn, so that its data is in the cache, as in a run.
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
