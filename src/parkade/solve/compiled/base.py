"""`CompiledStepper`: what runs with compiled engines have in common."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Self

import numpy as np

from parkade.base.types import Array, MaskName
from parkade.engine.compile import threads
from parkade.engine.compile.jit import made_with
from parkade.engine.field.field import Field
from parkade.engine.flow.velocity import PARALLEL_SECONDS
from parkade.engine.rest.field_rest import FieldTokens
from parkade.engine.rest.looks import FEWEST
from parkade.engine.rest.rest_state import has_ended
from parkade.engine.steps import clock
from parkade.engine.steps.integrator import Goal, Integrator
from parkade.engine.steps.integrator import Steps as Room
from parkade.engine.steps.methods import METHODS
from parkade.engine.steps.stages import BLOCK
from parkade.engine.system import LOG2E, Dims, System
from parkade.engine.vectors import frobenius, noise_speed
from parkade.solve.compiled.resting import Rest
from parkade.solve.lowering.frame import Frame
from parkade.solve.lowering.handover import (
    first_step,
    first_time,
    resting,
    take_over,
    take_over_watch,
)
from parkade.solve.options import Problem
from parkade.solve.planning.plan import Plan
from parkade.solve.stepper import vanishing
from parkade.solve.steps import RestRecord, TakenSteps
from parkade.solve.warmup import Kind, warm_up


class _CompiledEnd(NamedTuple):
    frame: Frame
    system: System | Field
    x: Array
    clock: Array
    watch: Array


class CompiledStepper(ABC):
    """A compiled engine in the middle of a run."""

    def __init__(self, plan: Plan, problem: Problem, x0: Array, *, alone: bool) -> None:
        n, columns = x0.shape
        t_end = problem.options.t_end
        self._plan, self._problem, self._frame = plan, problem, plan.frame
        self._engine: Integrator = METHODS[plan.method]
        self.stages, self.dense = self._engine.stages, self._engine.dense
        self.code = _code()
        self.span = problem.start, problem.start + t_end
        # The clock may begin with a part of the time before the start of the model.
        self._origin = first_time(problem.start, t_end, plan.frame.drifts)
        self._goal = Goal(self._origin + t_end, problem.options.tol)
        self._alone = alone
        self._on_all_cores = alone and _threads_help(plan, n)
        self._start = x0
        self._x = self._enter(x0).copy()
        self._system, self._work, self._dims = self._set_up(n, columns)
        self._work.clock[clock.TIME] = self._origin
        self._rest: Rest | None = None
        enough = problem.options.rest and n >= FEWEST
        if enough and plan.method == "implicit" and self._may_rest():
            sharpness = max(float(np.linalg.norm(self._system.query, 2)) / LOG2E, 1e-300)
            self._rest = Rest(self._x, self._work, self._goal.tol, sharpness, self._measured())
        self._room = self._new_room(0)
        self._context: AbstractContextManager[None] = nullcontext()

    def _may_rest(self) -> bool:
        """Whether tokens may rest on earlier ones, if they come close to them."""
        return self._system.causal and self._frame.attracts

    @abstractmethod
    def _part(self, rest: Rest) -> tuple[Any, Any]:
        """The model and a workspace for the tokens that move, with the others as followers."""

    @abstractmethod
    def _measured(self) -> System | FieldTokens:
        """What tells how far tokens are from their leaders, or would be."""

    @abstractmethod
    def _set_up(self, n: int, columns: int) -> tuple[Any, Any, Dims]:
        """The model and the workspace in the form that the engine needs, and the dimension."""

    def warm_up(self) -> None:
        """Compile or load the code that the steps need."""
        self._warm_up(self._plan.sums.name)

    def _warm_up(self, name: str) -> None:
        sums, model = self._plan.sums, self._problem.model
        mask: MaskName = "causal" if model.triangular else "full"
        any_query, parts = sums.lengths is not None, self._plan.kernel == "field"
        any_query = any_query and name == "harmonic"
        kind = (self._plan.method, model.d, name, mask, self._on_all_cores, any_query, parts)
        warm_up(Kind.of(*kind))

    @property
    def _uses_blas(self) -> bool:
        """Whether steps use matrix products of BLAS."""
        return True

    def _enter(self, state: Array) -> Array:
        """Convert a state to the coordinates of the frame."""
        return _tokens_by(self._frame.enter, state, len(self._frame.basis))

    def _leave(self, state: Array) -> Array:
        """Convert a state to the coordinates of the model."""
        return _tokens_by(self._frame.leave, state, len(self._frame.basis))

    def __enter__(self) -> Self:
        if self._uses_blas:
            self._context = threads.single_threaded_blas()
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    @property
    def time(self) -> float:
        """The time of the last step."""
        return float(self._work.clock[clock.TIME]) - self._origin

    @property
    def rejected(self) -> int:
        """The number of rejected steps."""
        return int(self._work.clock[clock.REJECTED])

    def end(self) -> object:
        """Return the frame, the model, the tokens, the clock, and the record of rounding errors."""
        return _CompiledEnd(
            self._frame, self._system, self._state(), self._work.clock, self._watch()
        )

    def resume(self, end: object) -> None:
        """Take over the tokens in the frame, the step, and the record of rounding errors."""
        if not isinstance(end, _CompiledEnd):
            return
        take_over(self._work.clock, end.clock, self._first_step(end))
        if np.array_equal(end.frame.basis, self._frame.basis):
            self._x = end.x.copy()  # without rounding
            passed = float(self._work.clock[clock.TIME] - end.clock[clock.TIME])
            take_over_watch(self._work.watch, end.watch, passed)

    def _first_step(self, end: _CompiledEnd) -> float:
        """A first step from the last one of the previous model; 0 leaves it to the engine."""
        ours, theirs = self._system, end.system
        matrices = (ours.value, theirs.value), (ours.own_value, theirs.own_value)
        if not all(np.array_equal(*pair) for pair in matrices):
            return 0.0
        change = float(np.linalg.norm(ours.query - theirs.query, 2)) / LOG2E
        return first_step(float(end.clock[clock.STEP]), change, frobenius(ours.value))

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most `most` steps; None if they became too short."""
        if most > len(self._room.times):
            self._room = self._new_room(most)
        x, rest, room = self._x, self._rest, self._room
        resting = None if rest is None else rest.resting
        previous = x if rest is None else x.copy()
        count = 0
        while count < most and self._work.clock[clock.TIME] < self._goal.t_end:
            asked = self._steps_until_look(most)
            until = min(most, count + asked)
            taken = self._take(Room(*(part[count:until] for part in room)))
            if taken < 0 and not count:
                return None
            if taken < 0:
                break  # the next call ends the run
            count += taken
            if rest is None:
                continue
            rest.count(taken)
            previous = room.tokens[count - 2] if count > 1 else previous
            if not (taken >= asked or self._has_ended()):
                continue
            if rest.look(x, previous, self._work, self.time):
                self._rearrange(rest)
                break
            if self._must_end():
                break
        times, tokens, dense = (part[:count] for part in room)
        times -= self._origin
        return TakenSteps(times, self._leave(tokens), self._leave(dense), resting)

    def _steps_until_look(self, most: int) -> int:
        """How many steps to take before resting tokens are looked at, at most `most`."""
        return most if self._rest is None else self._rest.steps_until_look

    def _has_ended(self) -> bool:
        """Whether steps have ended for a reason, and not only because enough were taken."""
        work = self._work
        return has_ended(self._x, work.audited, work.clock, self._goal.t_end)

    def _must_end(self) -> bool:
        """Whether steps of another kind are to follow, now that tokens have been looked at."""
        return False

    def _take(self, room: Room) -> int:
        """Take steps of the tokens that move, until `room` is full; returns their number, or -1."""
        engine = self._engine
        advance = engine.advance_on_all_cores if self._on_all_cores else engine.advance
        return int(advance(self._system, self._dims, self._x, self._work, self._goal, room))

    def _new_room(self, steps: int) -> Room:
        shape = self._x.shape
        return Room(
            np.empty(steps), np.empty((steps, *shape)), np.empty((steps, self.dense, *shape))
        )

    def _rearrange(self, rest: Rest) -> None:
        """Go on with other tokens that move."""
        rest.rearrange(self._x, self._work)
        system, work = self._part(rest)
        self._system, self._work = system, work._replace(clock=self._work.clock)
        self._x = rest.hand_over(self._work)
        self._room = self._new_room(0)

    def _state(self) -> Array:
        """The state of all tokens in the frame."""
        return self._x if self._rest is None else self._rest.whole(self._x)

    def _watch(self) -> Array:
        """What is noted of the rounding errors of all tokens."""
        watch: Array = self._work.watch
        return watch if self._rest is None else self._rest.note(self._x, self._work)

    def rest_record(self) -> RestRecord:
        """How tokens have rested so far, while others moved."""
        return RestRecord() if self._rest is None else self._rest.record()

    def collapse(self) -> str:
        """A sentence that names a token whose motion is undefined; empty if there is none."""
        state = self._leave(self._state())
        return vanishing(self._problem.model, state, self.span[0] + self.time)

    @abstractmethod
    def check(self) -> None:
        """Raise `InaccurateSumsError` if the error of the sums exceeds their bound."""

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol."""
        steps = float(self._work.clock[clock.TRUSTED]) - self._origin
        return min(steps, self._frame.known_until(self._goal.tol))

    def resting(self) -> int:
        """The number of tokens, counted from the first one, that were at rest at the start."""
        system = self._system
        noise = noise_speed(system.value, system.accuracy)
        count = resting(self._watch(), noise, system.causal)
        # Tokens that attend to themselves only, as leaders do, rest anywhere nearby.
        free = count and not system.own_value.any()
        return 0 if free and self._are_alone(self._enter(self._start[:count])) else count

    @abstractmethod
    def _are_alone(self, x: Array) -> bool:
        """Whether no other token and no MLP acts on these first tokens."""


def _tokens_by(change: Callable[[Array], Array], state: Array, d: int) -> Array:
    """Apply `change` to the tokens of a state, and keep its other columns."""
    if state.shape[-1] == d:
        return change(state)
    return np.concatenate([change(state[..., :d]), state[..., d:]], axis=-1)


def _threads_help(plan: Plan, n: int) -> bool:
    """Whether several threads make one run faster."""
    if plan.method != "implicit":
        return plan.sums.seconds > PARALLEL_SECONDS
    return plan.sums.table is not None and n > 2 * BLOCK


@functools.cache
def _code() -> str:
    return "Numba {numba}, LLVM {llvm}, {cpu}".format(**made_with())
