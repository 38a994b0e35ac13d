"""Runs of several models, one after the other: one stepper for each, and a common time."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.solve.options import Problem
from parkade.solve.planning.plan import Plan, choose
from parkade.solve.stepper import Stepper
from parkade.solve.steps import RestRecord, TakenSteps

Begin = Callable[[Plan, Problem, Array], Stepper]
"""Creates the stepper of a plan for a problem and its first tokens."""


class Piecewise:
    """A stepper that consists of one stepper for each model.

    The time of each begins at 0: otherwise a model that begins at t = 1e50 and lasts for t = 1
    would be lost in rounding. Each model is planned when it begins: the coefficients of harmonic
    sums for all of them could fill the memory.
    """

    def __init__(self, plan: Plan, x0: Array, begin: Begin) -> None:
        self._plan, self._begin = plan, begin
        self._inside = ExitStack()
        self._rejected, self._trusted, self._resting = 0, math.inf, 0
        self._rested = RestRecord()
        self._number = 0
        method = plan.pieces[0].options.method
        first = plan if method == "auto" else replace(plan, method=method)
        self._now = begin(first, plan.pieces[0], x0)
        self._time, self._last = 0.0, TakenSteps.at_start(x0)
        self.stages, self.dense = self._now.stages, self._now.dense

    def __enter__(self) -> Piecewise:
        self._inside.enter_context(self._now)
        return self

    def __exit__(self, *error: Any) -> None:
        self._inside.__exit__(*error)

    @property
    def code(self) -> str:
        """The versions of what computes the steps at present."""
        return self._now.code

    @property
    def span(self) -> tuple[float, float]:
        """When the present model begins and ends."""
        return self._problem.start, self._plan.ends[self._number]

    @property
    def time(self) -> float:
        """The time of the last step."""
        return self._time

    @property
    def rejected(self) -> int:
        """The number of rejected steps."""
        return self._rejected + self._now.rejected

    @property
    def _problem(self) -> Problem:
        return self._plan.pieces[self._number]

    def end(self) -> object:
        """Return None: no model follows the last one."""
        return None

    def resume(self, end: object) -> None:
        """Do nothing: no model precedes the first one."""

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most `most` steps with one model; begin the next one first if it is time."""
        if self._now.time >= self._problem.options.t_end:
            self._begin_next()
        taken = self._now.advance(most)
        if taken is None:
            return None
        start, end = self.span
        # Rounded, a time before the end may be the end, which only the last step reaches.
        times = np.minimum(start + taken.times, np.nextafter(end, start))
        if self._now.time >= self._problem.options.t_end:
            times[-1] = end
        self._time = float(times[-1])
        self._last = taken.only(len(times) - 1).without_dense().copied()
        return taken._replace(times=times)

    def _begin_next(self) -> None:
        self.check()
        self._rejected += self._now.rejected
        self._trusted, self._resting = self.trusted_until(), self.resting()
        self._rested = self.rest_record()
        self._inside.close()
        end = self._now.end()
        del self._now  # free its memory before the next one needs as much
        self._number += 1
        x = self._last.state(0, self._problem.model.d)
        self._now = self._begin(choose(self._problem, len(x)), self._problem, x)
        self._now.resume(end)
        self._inside.enter_context(self._now)

    def rest_record(self) -> RestRecord:
        """How tokens have rested so far, while others moved."""
        return self._rested.then(self._now.rest_record(), self._problem.start)

    def collapse(self) -> str:
        """A sentence that names a token whose motion is undefined; empty if there is none."""
        return self._now.collapse()

    def check(self) -> None:
        """Check the sums of the present model."""
        self._now.check()

    def trusted_until(self) -> float:
        """The earliest time after which one of the models cannot be trusted."""
        return min(self._trusted, self.span[0] + self._now.trusted_until())

    def resting(self) -> int:
        """The number of tokens, counted from the first one, that were at rest at the start."""
        return self._resting if self._number else self._now.resting()
