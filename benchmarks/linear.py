"""Attention in linear time: growth with n, crossovers, and the life of 100 000 tokens.

    python benchmarks/linear.py            prints tables in Markdown (about ten minutes)
    python benchmarks/linear.py growth     one of growth, queries, crossover, life, memory

Each life and each memory figure is measured in a process of its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

import parkade as pk
from parkade.base.types import Array
from parkade.engine.flow.velocity import velocity, velocity_batch
from parkade.engine.sums import pairwise
from parkade.engine.system import System, unrolled
from parkade.solve.lowering.lower import prepare
from parkade.solve.options import Method, Options, Problem, SumsOption
from parkade.solve.planning import sums

CASES = (("circle", 2, 64.0), ("S²", 3, 9.0))


def _best(function: Callable[[], object], seconds: float = 2.0) -> float:
    """The best time of several calls."""
    function()
    best, spent = np.inf, 0.0
    while spent < seconds:
        begun = time.perf_counter()
        function()
        took = time.perf_counter() - begun
        best, spent = min(best, took), spent + took
    return float(best)


def _prepared(model: pk.Attention, n: int, option: SumsOption) -> System:
    chosen = sums.choose(Problem.of(model, Options(1.0, sums=option)), n)
    accuracy = chosen.accuracy
    return prepare(model, table=chosen.table, lengths=chosen.lengths, accuracy=accuracy)


def _any_queries(d: int, norm: float, seed: int = 0) -> pk.Attention:
    """A model with random Q and K, and this β|KᵀQ|."""
    Q, K = np.random.default_rng(seed).standard_normal((2, d, d))
    return pk.Attention(d, norm / float(np.linalg.norm(K.T @ Q, 2)), Q=Q, K=K)


def growth() -> None:
    """One velocity on all cores, from 10⁴ to 10⁶ tokens, and the fitted exponent of n."""
    print("| tokens on | β | n | s | ns per token |\n|---|---:|---:|---:|---:|")
    for name, d, beta in CASES:
        sizes = [10**4, 31_623, 10**5, 316_228, 10**6]
        times = []
        for n in sizes:
            model, x = pk.Attention(d, beta), pk.sphere.uniform(n, d, seed=1)
            system = _prepared(model, n, "harmonic")
            times.append(_best(partial(velocity, system, x)))
            each = 1e9 * times[-1] / n
            print(f"| {name} | {beta:g} | {n} | {times[-1]:.3g} | {each:.0f} |", flush=True)
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        print(f"| {name} | {beta:g} | exponent | **{slope:.3f}** | |")


def queries() -> None:
    """One velocity of 10⁵ tokens with random Q and K on one core, against direct sums.

    Direct sums are timed for rows from all parts of the sequence, and extrapolated.
    """
    print("| tokens on | β\\|KᵀQ\\| | direct, s | harmonic, s | ratio | Q = K = I, s | error |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    n, parts = 10**5, 8
    for name, d, norm in CASES:
        model, x = _any_queries(d, norm), pk.sphere.uniform(n, d, seed=1)
        direct, fast = prepare(model), _prepared(model, n, "harmonic")
        plain = _prepared(pk.Attention(d, norm), n, "harmonic")
        exact = np.empty_like(x)
        starts = [(2 * i + 1) * n // (2 * parts) - pairwise.CHUNK // 2 for i in range(parts)]
        spans = [(k, k + pairwise.CHUNK) for k in starts]

        def rows(system: System = direct, x: Array = x, out: Array = exact) -> None:
            for lo, hi in spans:  # noqa: B023
                pairwise.velocity_rows(system, unrolled(x.shape[1]), x, lo, hi, out)

        whole = _best(rows) * n / (parts * pairwise.CHUNK)
        took, simple = (_best(partial(velocity, s, x, threads=1)) for s in (fast, plain))
        result = velocity(fast, x)
        error = max(float(np.abs(result[lo:hi] - exact[lo:hi]).max()) for lo, hi in spans)
        print(
            f"| {name} | {norm:g} | {whole:.2f} | {took:.4f} | **{whole / took:.0f}** "
            f"| {simple:.4f} | {error:.1e} |",
            flush=True,
        )


def crossover() -> None:
    """Direct and harmonic velocities on one core, and what `simulate` chooses."""
    print("| tokens on | Q, K | β\\|KᵀQ\\| | n | direct, µs | harmonic, µs | chosen |")
    print("|---|---|---:|---:|---:|---:|---|")
    cases = (("circle", 2, 9.0), ("circle", 2, 64.0), ("S²", 3, 9.0), ("S²", 3, 64.0))
    for (name, d, norm), kind in product(cases, ("I", "random")):
        model = pk.Attention(d, norm) if kind == "I" else _any_queries(d, norm)
        for n in (50, 100, 200, 400) if d == 2 else (400, 800, 1600, 3200):
            x = pk.sphere.uniform(n, d, seed=1)[None]
            out, dims = np.empty_like(x), unrolled(d)
            took = []
            for option in ("direct", "harmonic"):
                system = _prepared(model, n, option)
                took.append(1e6 * _best(partial(velocity_batch, system, dims, x, out), 0.2))
            chosen = sums.choose(Problem.of(model, Options(1.0)), n).name
            times = f"{took[0]:.0f} | {took[1]:.0f}"
            print(f"| {name} | {kind} | {norm:g} | {n} | {times} | {chosen} |", flush=True)


def life() -> None:
    """100 000 tokens on the circle from a random start to t = 10⁶."""
    print("| n | t | steps | s | clusters at the end | peak memory, MiB |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n in (10**4, 10**5):
        print(_alone(_life, n), flush=True)


def _life(n: int) -> str:
    model, x0 = pk.Attention(d=2, beta=64.0), pk.sphere.uniform(n, 2, seed=1)
    pk.simulate(model, x0[:500], 1e3, times="final", sums="harmonic")  # compiles
    t_end = 1e6
    begun = time.perf_counter()
    run = pk.simulate(model, x0, t_end, times=np.geomspace(1, t_end, 25), progress=True)
    seconds = time.perf_counter() - begun
    left = len(np.unique(pk.cluster_labels(run.final, pk.clusters.default_radius(model))))
    steps = run.stats.steps
    return f"| {n} | {t_end:g} | {steps} | {seconds:.0f} | {left} | {_peak():.0f} |"


def memory() -> None:
    """Peak memory of short runs with up to a million tokens, both methods."""
    print("| tokens on | method | n | peak memory, MiB |\n|---|---|---:|---:|")
    for name, d, beta in CASES:
        for method in ("explicit", "implicit"):
            for n in (10**5, 10**6):
                print(f"| {name} | {method} | {n} | {_alone(_memory, d, beta, method, n)} |")


def _memory(d: int, beta: float, method: Method, n: int) -> str:
    model, x0 = pk.Attention(d, beta), pk.sphere.uniform(n, d, seed=1)
    pk.simulate(model, x0, 0.01, times="final", method=method)
    return f"{_peak():.0f}"


def _alone(function: Callable[..., str], *arguments: object) -> str:
    """Call in a process of its own, whose peak memory is then that of the call."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def _peak() -> float:
    """Peak memory of this process in MiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    parts = {f.__name__: f for f in (growth, queries, crossover, life, memory)}
    for part in sys.argv[1:] or parts:
        parts[part]()
        print()
