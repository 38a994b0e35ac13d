"""Noisy runs of any model with its naive velocity; only the noise is compiled.

`engine.steps.splitting` describes the method. The steps are the same, so this is the reference for
its tests, and it runs models that no kernel covers.
"""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import interpreted
from parkade.engine.steps.brownian import Span, scatter_rows
from parkade.engine.steps.splitting import CELLS, FEWEST, GROW, SHORTEST, cells_of
from parkade.engine.steps.splitting import longest as limit
from parkade.solve.lowering.brownian import first_step, noise_of
from parkade.solve.naive.explicit import Naive, longest
from parkade.solve.options import Problem
from parkade.solve.steps import TakenSteps


class NaiveSplitting(Naive):
    """Strang's splitting of drift and noise on the sphere."""

    stages, dense = 6, 0

    def __init__(self, problem: Problem, x0: Array) -> None:
        super().__init__(problem, x0)
        model = self.model
        self._noise_path = noise_of(model, problem.seed, problem.piece)
        self._stops = problem.wanted.tolist()
        self._h = first_step(model, self._noise_path, self._tol, self._t_end)
        self._most = interpreted(limit)(model.d, self._noise_path, self._tol)
        self._ready: tuple[Array, float] | None = None  # the end of the next step, and its error

    def resume(self, end: object) -> None:
        """Take over nothing: each model has its own noise and its own steps."""

    def trusted_until(self) -> float:
        """Return infinity: noise moves tokens more than rounding does."""
        return math.inf

    def resting(self) -> int:
        """Return 0: noise moves all tokens."""
        return 0

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most `most` steps; None if they became too short."""
        times: list[float] = []
        states: list[Array] = []
        while len(times) < most and self._t < self._t_end:
            if self._ready is None:
                self._ready = self._accepted_step()
                if self._ready is None:
                    return None
            end, stop = self._t + self._h, self._stops[0]
            if stop < end:
                states.append(self._partial_step(stop))
                if stop >= self._t_end:
                    self._x, self._t = states[-1], self._t_end
            else:
                self._x, error = self._ready
                self._ready = None
                states.append(self._x)
                self._t = end
                twice = 2.0 * self._h
                if error < GROW and twice <= self._most and end % twice == 0.0:
                    self._h = twice
            times.append(min(stop, end))
            if stop <= end and stop < self._t_end:
                del self._stops[0]
        return TakenSteps(
            np.array(times), np.array(states), np.empty((len(times), 0, *self._x.shape))
        )

    def _scatter(self, state: Array, span: Span) -> Array:
        moved = state.copy()
        scatter_rows(self._noise_path, moved, self.model.d, span, 0, len(moved))
        return moved

    def _drift(self, state: Array, t: float, h: float) -> Array:
        """Take a step of the midpoint rule, without noise."""
        middle = self.retract(state + 0.5 * h * self.velocity(t, state))
        return self.retract(state + h * self.velocity(t + 0.5 * h, middle))

    def _full_step(self, state: Array, t: float, h: float, cells: int) -> Array:
        """Take a step: half of the noise, the drift, then the other half of the noise."""
        half = cells // 2
        state = self._scatter(state, Span(t, 0.5 * h, half, 0, half, 0.0))
        state = self._drift(state, t, h)
        return self._scatter(state, Span(t + 0.5 * h, 0.5 * h, half, 0, half, 0.0))

    def _partial_step(self, until: float) -> Array:
        """The state at a time before the end of the next step."""
        t, h, cells = self._t, self._h, self._cells()
        reached = (until - t) / h * cells
        last = min(cells - 1, int(reached))
        state = self._scatter(self._x, Span(t, h, cells, 0, last // 2, 0.0))
        state = self._drift(state, t, until - t)
        return self._scatter(state, Span(t, h, cells, last // 2, last, min(1.0, reached - last)))

    def _cells(self) -> int:
        return interpreted(cells_of)(self._h, self.model.d, self._noise_path, self._tol)

    def _accepted_step(self) -> tuple[Array, float] | None:
        """The end of an accepted step, and its error relative to tol; None if it is too short."""
        t, cells, coarse = self._t, self._cells(), None
        while self._h >= SHORTEST * self._noise_path.root and t + self._h / CELLS > t:
            h = self._h
            if coarse is None:
                coarse = self._full_step(self._x, t, h, cells)
            middle = self._full_step(self._x, t, 0.5 * h, cells // 2)
            fine = self._full_step(middle, t + 0.5 * h, 0.5 * h, cells // 2)
            error = longest(fine - coarse) / self._tol
            if error <= 1.0:
                return fine, error
            self._rejected += 1
            self._h = 0.5 * h
            coarse = middle if cells > FEWEST else None
            cells = max(FEWEST, cells // 2)
        return None
