"""Run an integrator in chunks: between them the keyboard, the progress bar, the memory."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from parkade.base import forks
from parkade.base.errors import InaccurateSumsError, ParkadeError
from parkade.base.progress import say_if_slow
from parkade.base.types import Array
from parkade.engine import clock as places
from parkade.engine import harmonic, threads
from parkade.engine.integrator import Goal, Integrator, Steps
from parkade.engine.methods import METHODS
from parkade.engine.stages import BLOCK
from parkade.engine.system import SMALL_D, System, unrolled
from parkade.engine.vectors import frobenius, noise_speed
from parkade.engine.velocity import PARALLEL_SECONDS
from parkade.model.attention import Attention
from parkade.solve.lower import prepare
from parkade.solve.pace import Pace
from parkade.solve.plan import Plan

_CHUNK_SECONDS = 0.05
_CHUNK_STEPS = 256
_FEW_STEPS = 16  # of the first chunk
_CHUNK_BYTES = 2**26

_CHECK_STEPS = 256  # from one check of harmonic sums to the next
_CHECKED = 8  # tokens


@dataclass(frozen=True)
class Outcome:
    """What the run cost, and how far it can be trusted."""

    engine: str
    steps: int
    rejected: int
    evaluations: int
    seconds: float  # without compiling
    trusted_until: float
    stopped: str  # why the run ended before its time; empty if it did not


def drive(
    plan: Plan,
    model: Attention,
    x0: Array,
    t_end: float,
    tol: float,
    *,
    frozen: Array,
    weights: Array,
    add: Callable[[Array, Array, Array], None],
    report: Callable[[float], None],
    cancelled: Callable[[], bool],
    alone: bool,
    max_steps: int | None,
) -> Outcome:
    """Integrate from `x0` to `t_end`, handing the steps to `add` chunk by chunk.

    The tokens handed over have the axes of the model, but do not turn where the frame does.
    """
    engine = METHODS[plan.method]
    n, d = x0.shape
    _warm_up(engine, d)
    begun = time.perf_counter()
    frame, sums = plan.frame, plan.sums
    system, dims = prepare(model, frozen, weights, frame, sums.table, sums.accuracy), unrolled(d)
    pace, stopped = Pace(plan.method, t_end, tol, max_steps), ""
    advance = engine.advance
    if alone and _is_large(plan, n):
        advance = engine.advance_on_all_cores
    room = min(
        _CHUNK_STEPS,
        _CHUNK_SECONDS / (engine.stages * sums.seconds),
        _CHUNK_BYTES / (x0.nbytes * (1 + engine.dense)),
    )
    room = max(1, int(room))
    chunk = np.empty(room), np.empty((room, n, d)), np.empty((room, engine.dense, n, d))
    x = frame.enter(x0).copy()
    work = engine.workspace(n, d, causal=system.causal, stores=sums.table is None)
    clock, goal = work.clock, Goal(t_end, tol)
    # A long run passes as many time scales between 1 and 10 as between 1e50 and 1e51.
    passed = math.log1p if plan.method == "implicit" else float
    whole = passed(t_end)

    steps, check_at = 0, _CHECK_STEPS
    few = min(room, _FEW_STEPS)
    loops_only = plan.method == "explicit" and d < SMALL_D
    with nullcontext() if loops_only else threads.single_threaded_blas():
        engine.start(system, dims, x, work, goal)
        while clock[places.TIME] < t_end and not stopped:
            few = int(min(few, pace.room(steps)))
            lap = time.perf_counter()
            some = Steps(*(part[:few] for part in chunk))
            count = advance(system, dims, x, work, goal, some)
            # The cost is a guess, and a step may be tried many times: go by the clock.
            lap = time.perf_counter() - lap
            few = min(room, max(1, int(few * min(4.0, _CHUNK_SECONDS / max(lap, 1e-9)))))
            if count < 0:
                raise ParkadeError(
                    f"the steps became too short to go on at t={clock[places.TIME]:g}; "
                    f"tol={tol:g} may be too strict for this model"
                )
            steps += count
            if sums.table is not None and (steps >= check_at or clock[places.TIME] >= t_end):
                _check_sums(system, dims, x, float(clock[places.TIME]))
                check_at = steps + _CHECK_STEPS
            times, tokens, dense = (part[:count] for part in chunk)
            add(times, frame.leave(tokens), frame.leave(dense))
            report(passed(clock[places.TIME]) / whole)
            stopped = pace.judge(steps, float(clock[places.TIME]))
            if cancelled():
                raise ParkadeError("cancelled")
    rejected = int(clock[places.REJECTED])
    return Outcome(
        engine=sums.describe(d),
        steps=steps,
        rejected=rejected,
        evaluations=engine.stages * (steps + rejected),
        seconds=time.perf_counter() - begun,
        trusted_until=_trusted_until(system, x, clock, t_end, tol),
        stopped=stopped,
    )


def _is_large(plan: Plan, n: int) -> bool:
    """Whether several threads pay within one run."""
    if plan.method == "explicit":
        return plan.sums.seconds > PARALLEL_SECONDS
    return plan.sums.table is not None and n > 2 * BLOCK


def _check_sums(system: System, dims: tuple[int, ...], x: Array, t: float) -> None:
    """Compare harmonic sums with direct ones, for a few tokens."""
    chosen = np.linspace(0, len(x) - 1, _CHECKED).astype(int)
    error = harmonic.error(system, dims, x, chosen)
    if not error <= system.accuracy * max(1.0, frobenius(system.value)):
        raise InaccurateSumsError(
            f"at t={t:g} harmonic sums were wrong by {error:.1g} instead of {system.accuracy:.1g}"
        )


def _trusted_until(system: System, x: Array, clock: Array, t_end: float, tol: float) -> float:
    """The time beyond which rounding, not the model, may move tokens by more than `tol`.

    Causal forces have full relative precision, however small, where V attracts; else the
    implicit method keeps account. Under full attention a cluster has no leader, the forces
    between clusters are differences of rounded numbers, and once all tokens are slower than
    rounding makes them, what moves them is rounding. A single cluster stays one.
    """
    if system.causal:
        return float(clock[places.TRUSTED])
    if np.ptp(x, axis=0).max() < tol:
        return math.inf
    limit = clock[places.MOTION] + tol / noise_speed(system.value, system.accuracy)
    return float(limit) if limit < t_end else math.inf


_warm: set[tuple[str, int]] = set()
_warming = threading.RLock()  # Numba compiles one thing at a time, too
forks.wait_for(_warming)


def _warm_up(engine: Integrator, d: int) -> None:
    """Compile, or load from the cache, what a run needs; say so if it takes long."""
    kind = (engine.name, min(d, SMALL_D))
    if kind in _warm:
        return
    with _warming:
        if kind not in _warm:
            _compile(engine, d)
            _warm.add(kind)


def _compile(engine: Integrator, d: int) -> None:
    dimension = f"d={d}" if d < SMALL_D else f"d≥{SMALL_D}"
    message = (
        f"compiling the {engine.name} engine for {dimension} (up to a minute, once: it is cached)"
    )
    x = np.eye(1, d)
    work = engine.workspace(1, d, causal=True)
    system, dims = prepare(Attention(d)), unrolled(d)
    chunk = np.empty(1), np.empty((1, 1, d)), np.empty((1, engine.dense, 1, d))
    with say_if_slow(message):
        engine.start(system, dims, x, work, Goal(1.0, 1e-3))
        engine.advance(system, dims, x, work, Goal(1.0, 1e-3), Steps(*chunk))
