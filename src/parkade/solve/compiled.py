"""Runs with compiled engines: the stepper, and compilation."""

from __future__ import annotations

import math
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from parkade.base import forks
from parkade.base.errors import InaccurateSumsError
from parkade.base.progress import say_if_slow
from parkade.base.types import Array
from parkade.engine import clock, harmonic, threads
from parkade.engine.integrator import Goal, Integrator
from parkade.engine.integrator import Steps as Room
from parkade.engine.methods import METHODS
from parkade.engine.stages import BLOCK
from parkade.engine.system import SMALL_D, unrolled
from parkade.engine.vectors import frobenius, noise_speed
from parkade.engine.velocity import PARALLEL_SECONDS
from parkade.model.attention import Attention
from parkade.solve.frame import Frame
from parkade.solve.lower import prepare
from parkade.solve.options import Problem
from parkade.solve.plan import Plan
from parkade.solve.stepper import Steps

_CHECKED = 8  # number of tokens whose harmonic sums are compared with direct ones


class Compiled:
    """An engine in the middle of a run."""

    def __init__(
        self, plan: Plan, frame: Frame, problem: Problem, x0: Array, *, alone: bool
    ) -> None:
        n, d = x0.shape
        options, fixed, sums = problem.options, problem.fixed, plan.sums
        self._engine: Integrator = METHODS[plan.method]
        self.stages, self.dense = self._engine.stages, self._engine.dense
        self._frame, self._goal = frame, Goal(options.t_end, options.tol)
        self._system = prepare(
            problem.model, fixed.tokens, fixed.weights, frame, sums.table, sums.accuracy
        )
        self._dims = unrolled(d)
        self._advance = self._engine.advance
        if alone and _is_large(plan, n):
            self._advance = self._engine.advance_on_all_cores
        self._x = frame.enter(x0).copy()
        self._work = self._engine.workspace(
            n, d, causal=self._system.causal, stores=sums.table is None
        )
        self._loops_only = plan.method == "explicit" and d < SMALL_D
        self._room = Room(np.empty(0), np.empty((0, n, d)), np.empty((0, self.dense, n, d)))
        self._context: AbstractContextManager[None] = nullcontext()

    def __enter__(self) -> Compiled:
        if not self._loops_only:
            self._context = threads.single_threaded_blas()
        self._context.__enter__()
        self._engine.start(self._system, self._dims, self._x, self._work, self._goal)
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    @property
    def time(self) -> float:
        """The time reached."""
        return float(self._work.clock[clock.TIME])

    @property
    def rejected(self) -> int:
        """The number of rejected steps."""
        return int(self._work.clock[clock.REJECTED])

    def advance(self, most: int) -> Steps | None:
        """Take steps."""
        if most > len(self._room.times):
            self._room = Room(*(np.empty((most, *part.shape[1:])) for part in self._room))
        some = Room(*(part[:most] for part in self._room))
        count = self._advance(self._system, self._dims, self._x, self._work, self._goal, some)
        if count < 0:
            return None
        times, tokens, dense = (part[:count] for part in some)
        return times, self._frame.leave(tokens), self._frame.leave(dense)

    def check(self) -> None:
        """Compare harmonic sums with direct ones, for a few tokens."""
        system, x = self._system, self._x
        if system.table.size == 0:
            return
        chosen = np.linspace(0, len(x) - 1, _CHECKED).astype(int)
        error = harmonic.error(system, self._dims, x, chosen)
        if not error <= system.accuracy * max(1.0, frobenius(system.value)):
            raise InaccurateSumsError(
                f"at t={self.time:g} harmonic sums have an error of {error:.1g}, above the bound "
                f"{system.accuracy:.1g}"
            )

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol.

        If V attracts, even tiny causal forces have full relative precision. Otherwise the
        implicit method tracks the lost forces. Under full attention a cluster has no leader,
        and the forces between clusters are differences of rounded numbers. Once all tokens are
        slower than rounding errors, these errors move them. A single cluster stays one.
        """
        system, times, goal = self._system, self._work.clock, self._goal
        if system.causal:
            return float(times[clock.TRUSTED])
        if np.ptp(self._x, axis=0).max() < goal.tol:
            return math.inf
        limit = times[clock.MOTION] + goal.tol / noise_speed(system.value, system.accuracy)
        return float(limit) if limit < goal.t_end else math.inf


def _is_large(plan: Plan, n: int) -> bool:
    """Whether several threads make one run faster."""
    if plan.method == "explicit":
        return plan.sums.seconds > PARALLEL_SECONDS
    return plan.sums.table is not None and n > 2 * BLOCK


_warm: set[tuple[str, int]] = set()
_warming = threading.RLock()  # Numba compiles one function at a time anyway
forks.wait_for(_warming)


def warm_up(method: str, d: int) -> None:
    """Compile the engine of a run or load it from the cache; print a message if it takes long."""
    engine = METHODS[method]
    kind = (engine.name, min(d, SMALL_D))
    if kind in _warm:
        return
    with _warming:
        if kind not in _warm:
            _compile(engine, d)
            _warm.add(kind)


def _compile(engine: Integrator, d: int) -> None:
    dimension = f"d={d}" if d < SMALL_D else f"d≥{SMALL_D}"
    message = f"compiling the {engine.name} engine for {dimension} (up to a minute; it is cached)"
    x = np.eye(1, d)
    work = engine.workspace(1, d, causal=True)
    system, dims = prepare(Attention(d)), unrolled(d)
    chunk = np.empty(1), np.empty((1, 1, d)), np.empty((1, engine.dense, 1, d))
    with say_if_slow(message):
        engine.start(system, dims, x, work, Goal(1.0, 1e-3))
        engine.advance(system, dims, x, work, Goal(1.0, 1e-3), Room(*chunk))
