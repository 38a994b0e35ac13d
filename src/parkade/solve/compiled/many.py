"""Long runs of very many tokens: explicit steps where implicit ones would be as short."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.engine.flow.velocity import PARALLEL_SECONDS
from parkade.engine.steps import clock
from parkade.engine.steps.explicit import EXPLICIT, ExplicitWork, workspace
from parkade.engine.steps.implicit import PLACE
from parkade.engine.steps.integrator import Steps as Room
from parkade.solve.compiled.head import HeadStepper
from parkade.solve.compiled.resting import Rest
from parkade.solve.options import Problem
from parkade.solve.planning.plan import Plan
from parkade.solve.steps import TakenSteps
from parkade.solve.warmup import Kind, warm_up

_SHORT = 3.0  # an implicit step below this costs more than explicit ones; in units of 1/|V|
_LONG = 1.2  # explicit steps above this may be limited by stability, in the same units
_FIRST = 0.25  # the first explicit step, in the same units
_MANY = 500  # below this number of moving tokens a step takes no time worth saving
_TOGETHER, _MOST = 8, 128  # explicit steps until an implicit one is tried: if long, and if not
_LATEST = 1e12  # explicit steps need a clock that tells them apart


class ManyStepper(HeadStepper):
    """Runs one plain head with implicit steps, and explicit ones while clusters meet.

    A meeting takes about a hundred units of time, in which steps of both kinds are short, and
    explicit ones cost a third. Resting tokens wake for it, so it is most of the work of a run.
    """

    def __init__(self, plan: Plan, problem: Problem, x0: Array, *, alone: bool) -> None:
        super().__init__(plan, problem, x0, alone=alone)
        self._rate = max(problem.model.rate, 1e-300)
        self._explicit: ExplicitWork | None = None
        self._since = 0  # explicit steps since an implicit one was tried
        self._trying = False  # whether the next implicit step is looked at by itself
        self._looked = (
            False  # whether tokens were looked at after the last step; calls end anywhere
        )

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most `most` steps of one kind; None if they became too short."""
        if self._explicit is None and self._looked and self._is_short():
            self._begin_explicit(_FIRST / self._rate)
            self._since = 0
        if self._explicit is None:
            self._looked = False
            return super().advance(most)
        taken = self._advance_explicitly(min(most, _TOGETHER))
        if self._explicit is not None and self._may_end_explicit():
            self._end_explicit()
        return taken

    def _may_end_explicit(self) -> bool:
        """Whether to try an implicit step; where errors limit explicit ones it is no longer."""
        long = self._work.clock[clock.STEP] * self._rate > _LONG
        return self._since >= (_TOGETHER if long else _MOST)

    def _is_short(self) -> bool:
        """Whether explicit steps are cheaper than the next implicit one."""
        system, now = self._system, self._work.clock
        many = system.table is not None and len(self._x) >= _MANY
        begun = now[clock.STARTED] > 0.0 and now[clock.TIME] < _LATEST
        return bool(many and begun and now[clock.STEP] * self._rate < _SHORT)

    def _steps_until_look(self, most: int) -> int:
        trying, self._trying = self._trying, False
        return 1 if trying else super()._steps_until_look(most)

    def _must_end(self) -> bool:
        self._looked = True
        return self._is_short()

    def _begin_explicit(self, step: float) -> None:
        """Go on with explicit steps, the first of this size."""
        m, columns = self._x.shape
        work = workspace(m, columns, causal=True)
        now = self._work.clock
        now[clock.STEP], now[clock.STARTED] = step, 0.0
        self._explicit = work._replace(clock=now, watch=self._work.watch)

    def _end_explicit(self) -> None:
        """Go on with implicit steps, and see at once whether they are long enough."""
        now, work = self._work.clock, self._work
        now[clock.STEP], now[clock.OLD_STEP] = 1.1 * _SHORT / self._rate, 0.0
        now[clock.ERROR] = now[clock.STARTED] = 1.0
        moved = np.linalg.norm(self._x[:, : work.place.shape[1]] - work.place, axis=1) > PLACE
        work.growth[moved], work.place[moved] = 0.0, self._x[moved, : work.place.shape[1]]
        self._explicit, self._trying = None, True

    def _advance_explicitly(self, most: int) -> TakenSteps | None:
        """Take at most `most` explicit steps, and look at resting tokens after each."""
        work, x, rest, count = self._explicit, self._x, self._rest, 0
        resting = None if rest is None else rest.resting
        room = Room(*(np.empty((most, *shape)) for shape in _shapes(x)))
        threads_help = len(x) / len(self._start) * self._plan.sums.seconds > PARALLEL_SECONDS
        shared = self._alone and threads_help
        self._warm_up_explicit(shared)
        advance = EXPLICIT.advance_on_all_cores if shared else EXPLICIT.advance
        while count < most and self._work.clock[clock.TIME] < self._goal.t_end:
            one = Room(*(part[count : count + 1] for part in room))
            taken = advance(self._system, self._dims, x, work, self._goal, one)
            if taken < 0:
                if not count:
                    return None
                break
            count += 1
            self._since += 1
            if rest is not None:
                rest.count(1)
                if rest.look(x, None, self._work, self.time):
                    self._rearrange(rest)
                    break
            if self._may_end_explicit():
                break
        times, tokens, dense = (part[:count] for part in room)
        times -= self._origin
        return TakenSteps(times, self._leave(tokens), self._leave(dense), resting)

    def _rearrange(self, rest: Rest) -> None:
        super()._rearrange(rest)
        self._looked = True
        if self._explicit is None:
            return
        if self._system.table is None or len(self._x) < _MANY:
            self._end_explicit()
        else:
            self._begin_explicit(float(self._work.clock[clock.STEP]))

    def _warm_up_explicit(self, shared: bool) -> None:
        any_query = self._plan.sums.lengths is not None
        kind = ("explicit", self._problem.model.d, "harmonic", "causal", shared, any_query, False)
        warm_up(Kind.of(*kind))


def _shapes(x: Array) -> tuple[Any, ...]:
    """The shapes of the times, the tokens and the dense output of one explicit step."""
    return (), x.shape, (EXPLICIT.dense, *x.shape)
