"""`Rest`: which tokens of a run rest on others, as Python sees them; see `engine.rest.looks`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.jacobian.linearization import padded
from parkade.engine.rest import rest_state
from parkade.engine.rest.field_rest import FieldTokens
from parkade.engine.rest.looks import Moment, compiled_look
from parkade.engine.rest.rest_state import FIRST, MOVING, SKIPPED, WOKEN, Known
from parkade.engine.system import System
from parkade.solve.steps import Resting, RestRecord, TakenSteps


class Rest:
    """Tokens that rest, and the tokens that they rest on, as Python sees them."""

    def __init__(
        self, x0: Array, work: Any, tol: float, sharpness: float, model: System | FieldTokens
    ) -> None:
        self.state = rest_state.new_state(x0, _known(work), sharpness)
        self.resting: Resting | None = None
        self._model, self._tol = model, tol
        self._nothing = np.empty((0, x0.shape[1]))

    @property
    def moving(self) -> NDArray[np.int64]:
        """The tokens that move."""
        return self.state.moving[: self.state.counts[MOVING]]

    @property
    def steps_until_look(self) -> int:
        """The number of steps until the next look for tokens that may rest."""
        return rest_state.steps_until_look(self.state)

    def record(self) -> RestRecord:
        """How tokens have rested so far."""
        counts, first = self.state.counts, float(self.state.times[FIRST])
        rested = len(self.state.leader) - int(counts[MOVING])
        woken, skipped = int(counts[WOKEN]), int(counts[SKIPPED])
        return RestRecord(rested, None if math.isnan(first) else first, woken, skipped)

    def count(self, steps: int) -> None:
        """Note that steps were taken."""
        rest_state.count_steps(self.state, steps)

    def look(self, x: Array, previous: Array | None, work: Any, t: float) -> bool:
        """Let tokens rest that may, and wake those that would move; returns whether any does.

        `previous` is the state of the moving tokens one step before. Without it no token comes to
        rest.
        """
        before = self._nothing if previous is None else previous
        moment = Moment(x, before, work.audited, work.clock)
        return compiled_look(self.state, self._model, moment, t, self._tol)

    def whole(self, x: Array) -> Array:
        """The state of all tokens, where the moving ones are at `x`."""
        steps = TakenSteps(np.zeros(1), x[None], np.empty((1, 0, *x.shape)), self.resting)
        return steps.state(0, self.state.audited.shape[1])

    def rearrange(self, x: Array, work: Any) -> None:
        """Note what is known of the moving tokens, and choose anew which they are."""
        state = self.state
        rest_state.note(state, x, _known(work))
        rest_state.rearrange(state)
        self.resting = Resting(self.moving.copy(), state.rows.copy(), state.longer.copy())

    def note(self, x: Array, work: Any) -> Array:
        """Note what is known of the moving tokens; returns the record of rounding errors of all."""
        rest_state.note(self.state, x, _known(work))
        return self.state.known.watch

    def hand_over(self, work: Any) -> Array:
        """Set what a workspace of the tokens that move now knows of them; returns their state."""
        x = np.empty((len(self.moving), self.state.x.shape[1]))
        rest_state.hand_over(self.state, x, _known(work))
        rest_state.arm(self.state, work.audited, work.clock)
        return x

    def followers(self) -> tuple[NDArray[np.int64], Array]:
        """Rows of tokens on which others rest; how many of those each moving one attends to."""
        m = len(self.moving)
        number = np.empty(m, dtype=np.int64)
        total = rest_state.number_leaders(self.state, number)
        leaders, counts = np.empty(total, dtype=np.int64), np.zeros((total, padded(m)))
        rest_state.set_followers(self.state, number, leaders, counts)
        return leaders, counts


def _known(work: Any) -> Known:
    """What a workspace knows of its tokens."""
    return Known(work.growth, work.place, work.watch)
