"""`Rest`: which tokens of a run rest on others, and when to look again; see `engine.steps.rest`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.jacobian.linearization import padded
from parkade.engine.steps.clock import LIMIT, STEP
from parkade.engine.steps.lumps import Tokens
from parkade.engine.steps.rest import CLOSE, count_followers, find_leaders, has_moved
from parkade.engine.steps.trust import LEAST
from parkade.solve.steps import Resting, RestRecord, TakenSteps

_EVERY = 4  # steps between two looks for tokens that may rest, at first
_SELDOM = 32  # the most steps between two looks
_LONG = 1000.0  # factor of time between two audits
_FARTHEST = 0.1  # how far tokens may move between them, in radians
_OVER = 2.0  # the distance at which a token wakes, in units of that at which it may rest
_GROWTH = 3.0  # the least growth of distances that leads to an audit
_LEAST = 0.1  # the smallest share of moving tokens that come to rest together

_FEW = 630.0  # fewer than (n/_FEW)^1.5 of n tokens at one place save less than their place costs

_NOTED = ("growth", "place", "watch")  # what is known of each token between steps

Measure = Callable[[Array, Tokens], Array | None]
"""The distances of tokens from their leaders, at a state of the moving ones; None if not known."""


class Rest:
    """Tokens that rest, and the tokens that they rest on.

    What is noted of a token between steps is kept for all tokens, also while they rest. A token
    that would be farther than `_OVER` times `CLOSE` tol from its leader wakes, unless that has been
    so for less than tol in units of the time that has passed: meetings of clusters at late times
    are brief.
    """

    def __init__(
        self, x0: Array, work: Any, d: int, tol: float, sharpness: float, measure: Measure
    ) -> None:
        n = len(x0)
        self.leader = np.arange(n)
        self.moving, self.rows = np.arange(n), np.arange(n)
        self._rests = np.zeros(n, dtype=np.bool_)
        self.resting: Resting | None = None
        self._first: float | None = None
        self._woken = self._skipped = 0
        self._longer = np.zeros(n)
        self._x, self._noted = x0.copy(), [getattr(work, name) for name in _NOTED]
        self._d, self._tol, self._measure = d, tol, measure
        self._every, self._left = _EVERY, 1
        self._disturbed = math.nan  # since when a resting token would move
        self._audited_by = 0.0
        self._audited = x0[:, :d].copy()  # where tokens were in the last audit
        self._sharpness, self._reach = sharpness, 0.0

    @property
    def left(self) -> int:
        """The number of steps until the next look for tokens that may rest."""
        return self._left

    def record(self) -> RestRecord:
        """How tokens have rested so far."""
        return RestRecord(int(self._rests.sum()), self._first, self._woken, self._skipped)

    def count(self, steps: int) -> None:
        """Note that steps were taken."""
        self._skipped += steps * (len(self.leader) - len(self.moving))
        self._left -= steps

    def look(self, x: Array, previous: Array | None, work: Any, t: float) -> bool:
        """Let tokens rest that may, and wake those that would move; returns whether any does.

        `previous` is the state of the moving tokens one step before. Without it no token comes to
        rest.
        """
        changed = self._left <= 0 and previous is not None and self._settle(x, previous, t)
        if self._rests.any() and self._must_audit(x, t):
            changed = self._audit(x, t, float(work.clock[STEP])) or changed
            if not changed:
                self._arm(work)
        return changed

    def _settle(self, x: Array, previous: Array, t: float) -> bool:
        """Let tokens rest that may; returns whether any does."""
        row = np.empty(len(x), dtype=np.int64)
        count = find_leaders(x, self._d, CLOSE * self._tol, row)
        seldom = count == 0 and math.isnan(self._disturbed)
        self._left = self._every = min(2 * self._every, _SELDOM) if seldom else _EVERY
        if not count:
            return False
        leader = self.leader.copy()
        leader[self.moving] = self.moving[row]
        lag = self._measure(x, Tokens(self.moving, self.rows, leader))
        if lag is None:
            return False
        chosen = (row != np.arange(len(row))) & (lag[self.moving] <= CLOSE * self._tol)
        # One that only passes its leader was farther away.
        gap = previous[:, : self._d] - previous[row, : self._d]
        chosen &= np.linalg.norm(gap, axis=1) <= _OVER * CLOSE * self._tol
        size = np.bincount(self.rows, minlength=len(row))  # of what moves with each moving token
        joining = np.bincount(row[chosen], weights=size[chosen], minlength=len(row))
        chosen &= (size + joining)[row] > (len(leader) / _FEW) ** 1.5
        tokens, onto = self.moving[chosen], self.moving[row[chosen]]
        leads = np.zeros(len(leader), dtype=np.bool_)
        leads[self.leader[self._rests]] = True
        merging = bool(leads[tokens].any())
        if len(tokens) < _LEAST * len(row) and not merging:
            return False
        if x.shape[1] > self._d:
            grown = np.zeros(len(leader))
            grown[self.moving] = np.exp(x[:, self._d])
            shift = np.zeros(len(leader))
            shift[tokens] = grown[tokens] - grown[onto]
            self._longer += shift[self.leader]
        new = np.arange(len(leader))
        new[tokens] = onto
        self.leader = new[self.leader]
        self._rests[tokens] = True
        self._first = t if self._first is None else self._first
        if merging:
            self._audited_by = t
        return True

    def _must_audit(self, x: Array, t: float) -> bool:
        """Whether resting tokens may have to move: others have moved, or much time has passed."""
        late = t - self._disturbed > self._tol * t  # False while nothing is disturbed
        if late or t >= self._audited_by:
            return True
        return has_moved(x, self._audited[self.moving], self._reach)

    def _audit(self, x: Array, t: float, step: float) -> bool:
        """Wake tokens that would move; returns whether any does."""
        lag = self._measure(x, Tokens(self.moving, self.rows, self.leader))
        if lag is None:  # not known of any token
            lag = np.where(self._rests, np.inf, 0.0)
        over = self._rests & ~(lag <= _OVER * CLOSE * self._tol)
        self._audited_by = max(_LONG * t, 1.0)
        self._audited[self.moving] = x[:, : self._d]
        worst = float(lag[self._rests & ~over].max(initial=0.0))
        # A token that moves by δ changes weights by a factor of e^{β|KᵀQ|δ} at most.
        growth = max(_GROWTH, CLOSE * self._tol / max(worst, 1e-300))
        self._reach = min(_FARTHEST, math.log(growth) / self._sharpness)
        if not over.any():
            self._disturbed = math.nan
            return False
        self._left = _EVERY
        if math.isnan(self._disturbed):
            self._disturbed = t
        if t + step - self._disturbed <= self._tol * t:
            self._reach = 0.0
            return False
        self._disturbed = math.nan
        woken = np.flatnonzero(over)
        self._x[woken] = self.whole(x)[woken]
        growth, place, _ = self._noted
        growth[woken] = 0.0
        self._audited[woken] = place[woken] = self._x[woken, : self._d]
        self.leader[woken], self._longer[woken], self._rests[woken] = woken, 0.0, False
        self._woken += len(woken)
        return True

    def whole(self, x: Array) -> Array:
        """The state of all tokens, where the moving ones are at `x`."""
        steps = TakenSteps(np.zeros(1), x[None], np.empty((1, 0, *x.shape)), self.resting)
        return steps.state(0, self._d)

    def rearrange(self, x: Array, work: Any) -> None:
        """Note what is known of the moving tokens, and choose anew which they are."""
        self.note(work)
        self._x[self.moving] = x
        self.moving = np.flatnonzero(~self._rests)
        place = np.empty(len(self.leader), dtype=np.int64)
        place[self.moving] = np.arange(len(self.moving))
        self.rows = place[self.leader]
        self.resting = Resting(self.moving, self.rows, self._longer.copy())

    def note(self, work: Any) -> Array:
        """Note what is known of the moving tokens; returns the record of rounding errors of all."""
        for noted, name in zip(self._noted, _NOTED, strict=True):
            mine = getattr(work, name)
            if noted is not mine:
                noted[self.moving] = mine
        # A resting token is as fast as its leader: it changes nothing of the fastest so far.
        watch: Array = self._noted[_NOTED.index("watch")]
        still = np.ones(len(watch), dtype=np.bool_)
        still[self.moving] = False
        before = self.moving[np.cumsum(~still)[still] - 1]
        watch[still, LEAST:] = watch[before, LEAST:]
        return watch

    def hand_over(self, work: Any) -> tuple[Any, Array]:
        """The workspace and the state of the tokens that move now, as far as they are known."""
        known = {name: noted[self.moving] for name, noted in zip(_NOTED, self._noted, strict=True)}
        work = work._replace(**known)
        self._arm(work)
        return work, self._x[self.moving]

    def _arm(self, work: Any) -> None:
        """Let steps end where tokens have moved so far that resting ones may have to move."""
        work.audited[:] = self._audited[self.moving]
        work.clock[LIMIT] = self._reach if self._rests.any() else 0.0

    def followers(self) -> tuple[NDArray[np.int64], Array]:
        """Rows of tokens on which others rest; how many of those each moving one attends to."""
        leaders = np.unique(self.rows[self._rests])
        number = np.empty(len(self.moving), dtype=np.int64)
        number[leaders] = np.arange(len(leaders))
        counts = np.zeros((len(leaders), padded(len(self.moving))))
        count_followers(self.moving, self.rows, number, counts)
        return leaders, counts

    def members(self) -> list[NDArray[np.int64]]:
        """The tokens at the place of each moving one, itself included."""
        order = np.argsort(self.leader, kind="stable")
        ends = np.searchsorted(self.leader[order], self.moving, side="right")
        return np.split(order, ends[:-1])
