"""Run an integrator in chunks: between them the keyboard, the progress bar, the memory."""

from __future__ import annotations

import math
import threading
import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from parkade.base import forks
from parkade.base.errors import InaccurateSumsError, ParkadeError
from parkade.base.progress import say_if_slow
from parkade.base.types import Array
from parkade.engine import METHODS, harmonic, threads
from parkade.engine.stages import BLOCK
from parkade.engine.system import SMALL_D, System, unrolled
from parkade.engine.vectors import frobenius, noise_speed
from parkade.engine.velocity import PARALLEL_SECONDS
from parkade.model.attention import Attention
from parkade.runs.stats import Stats
from parkade.solve.lower import prepare
from parkade.solve.options import Hooks, Problem
from parkade.solve.pace import Pace
from parkade.solve.plan import Plan
from parkade.solve.record import Recorder

_CHUNK_SECONDS = 0.05
_CHUNK_STEPS = 256
_FEW_STEPS = 16  # of the first chunk
_CHUNK_BYTES = 2**26

_CHECK_STEPS = 256  # from one check of harmonic sums to the next
_CHECKED = 8  # tokens


def integrate(
    plan: Plan, problem: Problem, x0: Array, kept: Recorder, hooks: Hooks
) -> tuple[Stats, float]:
    """Integrate from `x0` to the end, handing the steps to `kept` chunk by chunk.

    Returns what the run cost and the time until which it can be trusted. The tokens handed over
    have the axes of the model, but do not turn where the frame does.
    """
    engine, options = METHODS[plan.method], problem.options
    n, d = x0.shape
    t_end, tol = options.t_end, options.tol
    _warm_up(engine, d)
    begun = time.perf_counter()
    frame, sums, fixed = plan.frame, plan.sums, problem.fixed
    system = prepare(problem.model, fixed.tokens, fixed.weights, frame, sums.table, sums.accuracy)
    dims = unrolled(d)
    pace, stopped = Pace(plan.method, t_end, tol, options.max_steps), ""
    advance = engine.advance
    if hooks.alone and _is_large(plan, n):
        advance = engine.advance.py_func  # it shares out its sums to all cores
    room = min(
        _CHUNK_STEPS,
        _CHUNK_SECONDS / (engine.STAGES * sums.seconds),
        _CHUNK_BYTES / (x0.nbytes * (1 + engine.DENSE)),
    )
    room = max(1, int(room))
    chunk = np.empty(room), np.empty((room, n, d)), np.empty((room, engine.DENSE, n, d))
    x = frame.enter(x0).copy()
    work = engine.workspace(n, d, causal=system.causal, stores=sums.table is None)
    clock = work.clock
    # A long run passes as many time scales between 1 and 10 as between 1e50 and 1e51.
    passed = math.log1p if plan.method == "implicit" else float
    whole = passed(t_end)

    steps, check_at = 0, _CHECK_STEPS
    few = min(room, _FEW_STEPS)
    loops_only = plan.method == "explicit" and d < SMALL_D
    with nullcontext() if loops_only else threads.single_threaded_blas():
        engine.start(system, dims, x, work, t_end, tol)
        while clock[engine.TIME] < t_end and not stopped:
            few = int(min(few, pace.room(steps)))
            lap = time.perf_counter()
            some = tuple(part[:few] for part in chunk)
            count = advance(system, dims, x, work, t_end, tol, False, *some)
            # The cost is a guess, and a step may be tried many times: go by the clock.
            lap = time.perf_counter() - lap
            few = min(room, max(1, int(few * min(4.0, _CHUNK_SECONDS / max(lap, 1e-9)))))
            if count < 0:
                raise ParkadeError(
                    f"the steps became too short to go on at t={clock[engine.TIME]:g}; "
                    f"tol={tol:g} may be too strict for this model"
                )
            steps += count
            if sums.table is not None and (steps >= check_at or clock[engine.TIME] >= t_end):
                _check_sums(system, dims, x, float(clock[engine.TIME]))
                check_at = steps + _CHECK_STEPS
            times, tokens, dense = (part[:count] for part in chunk)
            kept.add(times, frame.leave(tokens), frame.leave(dense))
            hooks.report(passed(clock[engine.TIME]) / whole)
            stopped = pace.judge(steps, float(clock[engine.TIME]))
            if hooks.cancelled():
                raise ParkadeError("cancelled")
    rejected = int(clock[engine.REJECTED])
    stats = Stats(
        method=plan.method,
        reason=plan.reason,
        engine=sums.describe(d),
        tol=tol,
        steps=steps,
        rejected=rejected,
        evaluations=engine.STAGES * (steps + rejected),
        seconds=time.perf_counter() - begun,
        sums=sums.name,
        sums_reason=sums.reason,
        stopped=stopped,
    )
    return stats, _trusted_until(engine, system, x, clock, t_end, tol)


def _is_large(plan: Plan, n: int) -> bool:
    """Whether several threads pay within one run."""
    if plan.method == "explicit":
        return plan.sums.seconds > PARALLEL_SECONDS
    return plan.sums.table is not None and n > 2 * BLOCK


def _check_sums(system: System, dims: tuple[int, ...], x: Array, t: float) -> None:
    """Compare harmonic sums with direct ones, for a few tokens."""
    chosen = np.linspace(0, len(x) - 1, _CHECKED).astype(int)
    error = harmonic.error(system, dims, x, chosen)
    if not error <= system.accuracy * max(1.0, frobenius(system.V)):
        raise InaccurateSumsError(
            f"at t={t:g} harmonic sums were wrong by {error:.1g} instead of {system.accuracy:.1g}"
        )


def _trusted_until(
    engine: Any, system: System, x: Array, clock: Array, t_end: float, tol: float
) -> float:
    """The time beyond which rounding, not the model, may move tokens by more than `tol`.

    Causal forces have full relative precision, however small, where V attracts; else the
    implicit method keeps account. Under full attention a cluster has no leader, the forces
    between clusters are differences of rounded numbers, and once all tokens are slower than
    rounding makes them, what moves them is rounding. A single cluster stays one.
    """
    if system.causal:
        return float(clock[engine.TRUSTED]) if engine is METHODS["implicit"] else math.inf
    if np.ptp(x, axis=0).max() < tol:
        return math.inf
    limit = clock[engine.MOTION] + tol / noise_speed(system.V, system.accuracy)
    return float(limit) if limit < t_end else math.inf


_warm: set[tuple[str, int]] = set()
_warming = threading.RLock()  # Numba compiles one thing at a time, too
forks.wait_for(_warming)


def _warm_up(engine: Any, d: int) -> None:
    """Compile, or load from the cache, what a run needs; say so if it takes long."""
    kind = (engine.__name__, min(d, SMALL_D))
    if kind in _warm:
        return
    with _warming:
        if kind not in _warm:
            _compile(engine, d)
            _warm.add(kind)


def _compile(engine: Any, d: int) -> None:
    dimension = f"d={d}" if d < SMALL_D else f"d≥{SMALL_D}"
    message = (
        f"compiling the {engine.__name__.rpartition('.')[2]} engine for {dimension} "
        "(up to a minute, once: it is cached)"
    )
    x = np.eye(1, d)
    work = engine.workspace(1, d, causal=True)
    system, dims = prepare(Attention(d)), unrolled(d)
    chunk = np.empty(1), np.empty((1, 1, d)), np.empty((1, engine.DENSE, 1, d))
    with say_if_slow(message):
        engine.start(system, dims, x, work, 1.0, 1e-3)
        engine.advance(system, dims, x, work, 1.0, 1e-3, False, *chunk)
