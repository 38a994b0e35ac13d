"""Runs with compiled engines: the stepper."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from parkade.base.errors import InaccurateSumsError
from parkade.base.types import Array
from parkade.engine.compile import threads
from parkade.engine.compile.jit import made_with
from parkade.engine.field.field import Field
from parkade.engine.flow import linear_time
from parkade.engine.flow.velocity import PARALLEL_SECONDS
from parkade.engine.steps import clock, field_stages, splitting
from parkade.engine.steps.integrator import Goal, Integrator
from parkade.engine.steps.integrator import Steps as Room
from parkade.engine.steps.methods import METHODS
from parkade.engine.steps.stages import BLOCK
from parkade.engine.steps.trust import new_watch
from parkade.engine.system import LOG2E, SMALL_D, System, unrolled
from parkade.engine.vectors import frobenius, noise_speed
from parkade.model.transformer import Transformer
from parkade.solve.brownian import first_step as first_noisy_step
from parkade.solve.brownian import noise_of
from parkade.solve.frame import Frame
from parkade.solve.handover import first_step, first_time, resting, take_over, take_over_watch
from parkade.solve.lower import plain_head, prepare, prepare_field
from parkade.solve.options import Problem
from parkade.solve.plan import Plan
from parkade.solve.stepper import Steps, vanishing

_ALONE = -40.0  # score, in base 2 and relative to its own, of another token that has no weight
_CHECKED = 8  # number of tokens whose harmonic sums are compared with direct ones


class _End(NamedTuple):
    frame: Frame
    system: System
    x: Array
    clock: Array
    watch: Array | None


class Compiled:
    """An engine in the middle of a run."""

    def __init__(
        self, plan: Plan, frame: Frame, problem: Problem, x0: Array, *, on_all_cores: bool
    ) -> None:
        n, d = x0.shape
        options, fixed, sums = problem.options, problem.fixed, plan.sums
        self._engine: Integrator = METHODS[plan.method]
        self.stages, self.dense = self._engine.stages, self._engine.dense
        self.code = _code()
        self.span = problem.start, problem.start + options.t_end
        late = first_time(problem.start, options.t_end, frame.drifts)
        self._origin = late
        self._frame, self._goal = frame, Goal(late + options.t_end, options.tol)
        self._model = model = problem.model
        self._start = x0
        self._system: Any
        self._work: Any
        self._dims = unrolled(d)
        if plain_head(problem) is None:
            assert isinstance(model, Transformer)
            # Where the clock is late, it already shows a part of the time before the start.
            self._system = prepare_field(model, frame, problem.start - late)
            self._dims = unrolled(SMALL_D)  # one code for all dimensions
            self._work = field_workspace(self._engine, self._system, n, d)
            if problem.noisy:
                noise = noise_of(model, problem.seed, problem.piece)
                self._work = self._work._replace(noise=noise, wanted=problem.wanted)
                step = first_noisy_step(model, noise, options.tol, options.t_end)
                self._work.clock[clock.STEP] = step
        else:
            self._system = prepare(
                model,
                fixed.tokens,
                fixed.weights,
                frame,
                sums.table,
                sums.accuracy,
                sums.lengths,
            )
            self._work = self._engine.workspace(
                n, d, causal=self._system.causal, stores=sums.table is None
            )
        self._advance = self._engine.advance
        if on_all_cores:
            self._advance = self._engine.advance_on_all_cores
        self._x = self._enter(x0).copy()
        self._work.clock[clock.TIME] = late
        plain = isinstance(self._system, System)
        self._loops_only = plain and plan.method == "explicit" and d < SMALL_D
        self._room = Room(np.empty(0), np.empty((0, n, d)), np.empty((0, self.dense, n, d)))
        self._context: AbstractContextManager[None] = nullcontext()

    def _enter(self, state: Array) -> Array:
        """A state in the frame."""
        return _tokens_by(self._frame.enter, state, len(self._frame.basis))

    def _leave(self, state: Array) -> Array:
        """A state in the coordinates of the model."""
        return _tokens_by(self._frame.leave, state, len(self._frame.basis))

    def __enter__(self) -> Compiled:
        if not self._loops_only:
            self._context = threads.single_threaded_blas()
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    @property
    def time(self) -> float:
        """The time reached."""
        return float(self._work.clock[clock.TIME]) - self._origin

    @property
    def rejected(self) -> int:
        """The number of rejected steps."""
        return int(self._work.clock[clock.REJECTED])

    def end(self) -> object:
        """The tokens in the frame, the clock, and what was noted of rounding errors."""
        watch = None if isinstance(self._work, splitting.SplittingWork) else self._work.watch
        return _End(self._frame, self._system, self._x, self._work.clock, watch)

    def resume(self, end: object) -> None:
        """Take over the tokens as they are in the frame, the step, and what limits the trust."""
        if not isinstance(end, _End) or isinstance(self._work, splitting.SplittingWork):
            return  # the noise of a model is its own, and so are its steps
        take_over(self._work.clock, end.clock, self._first_step(end))
        if np.array_equal(end.frame.basis, self._frame.basis):
            self._x = end.x.copy()  # without rounding
            if end.watch is not None:
                passed = float(self._work.clock[clock.TIME] - end.clock[clock.TIME])
                take_over_watch(self._work.watch, end.watch, passed)

    def _first_step(self, end: _End) -> float:
        """A first step by the last one of the model before; 0 leaves it to the engine."""
        ours, theirs = self._system, end.system
        matrices = (ours.value, theirs.value), (ours.own_value, theirs.own_value)
        if not all(np.array_equal(*pair) for pair in matrices):
            return 0.0
        change = float(np.linalg.norm(ours.query - theirs.query, 2)) / LOG2E
        return first_step(float(end.clock[clock.STEP]), change, frobenius(ours.value))

    def advance(self, most: int) -> Steps | None:
        """Take steps."""
        if most > len(self._room.times):
            self._room = Room(*(np.empty((most, *part.shape[1:])) for part in self._room))
        some = Room(*(part[:most] for part in self._room))
        count = self._advance(self._system, self._dims, self._x, self._work, self._goal, some)
        if count < 0:
            return None
        times, tokens, dense = (part[:count] for part in some)
        times -= self._origin
        return times, self._leave(tokens), self._leave(dense)

    def collapse(self) -> str:
        """Which token has no motion."""
        return vanishing(self._model, self._leave(self._x), self.span[0] + self.time)

    def check(self) -> None:
        """Compare harmonic sums with direct ones, for a few tokens."""
        system, x = self._system, self._x
        if system.table is None:
            return
        chosen = np.linspace(0, len(x) - 1, _CHECKED).astype(int)
        error = linear_time.error(system, self._dims, x, chosen)
        if not error <= system.accuracy * max(1.0, frobenius(system.value)):
            raise InaccurateSumsError(
                f"at t={self.time:g} harmonic sums have an error of {error:.1g}, above the bound "
                f"{system.accuracy:.1g}"
            )

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol."""
        steps = float(self._work.clock[clock.TRUSTED]) - self._origin
        return min(steps, self._frame.known_until(self._goal.tol))

    def resting(self) -> int:
        """How many tokens, the first ones, were at rest at the start."""
        if isinstance(self._work, splitting.SplittingWork):
            return 0
        noise = noise_speed(self._system.value, self._system.accuracy)
        count = resting(self._work.watch, noise, self._system.causal)
        if count and _are_alone(self._system, self._enter(self._start[:count])):
            return 0
        return count


def field_workspace(engine: Integrator, field: Field, n: int, columns: int) -> Any:
    """Room for a run of a transformer with n tokens, whose states have so many columns."""
    if engine.name == "implicit":
        return field_stages.workspace(field, n, columns)
    work: Any = engine.workspace(n, columns, causal=field.causal)
    if engine.name == "explicit":
        return work._replace(watch=new_watch(n, len(field.own_value)))
    return work


def _are_alone(system: System | Field, x: Array) -> bool:
    """Whether tokens are at rest because they attend to themselves only, as leaders do.

    Then they would be at rest in any place nearby.
    """
    if system.own_value.any():
        return False
    if len(system.inner if isinstance(system, Field) else system.frozen):
        return False
    if isinstance(system, Field) or len(x) == 1:
        return len(x) == 1
    scores = x @ system.query.T @ x.T
    others = (scores - scores.diagonal()[:, None])[np.tri(len(x), k=-1, dtype=bool)]
    return bool(others.max() < _ALONE)


def _tokens_by(change: Callable[[Array], Array], state: Array, d: int) -> Array:
    """A state with other tokens, and the same further columns."""
    if state.shape[-1] == d:
        return change(state)
    return np.concatenate([change(state[..., :d]), state[..., d:]], axis=-1)


def is_large(plan: Plan, n: int) -> bool:
    """Whether several threads make one run faster."""
    if plan.method != "implicit":
        return plan.sums.seconds > PARALLEL_SECONDS
    return plan.sums.table is not None and n > 2 * BLOCK


@functools.cache
def _code() -> str:
    return "Numba {numba}, LLVM {llvm}, {cpu}".format(**made_with())
