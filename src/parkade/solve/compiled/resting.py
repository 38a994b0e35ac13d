"""`Rest`: which tokens of a run rest on others, and when to look again; see `engine.steps.rest`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.steps.clock import PAUSE
from parkade.engine.steps.rest import CLOSE, find_leaders, set_lags
from parkade.solve.steps import Resting, RestRecord, Steps

_EVERY = 4  # steps between two looks for tokens that may rest, at first
_SELDOM = 64  # the most steps between two looks
_LONG = 1000.0  # factor of time between two audits
_FASTER = 2.0  # factor of the speed of leaders between two audits: lags may grow much more
_LEAST = 0.05  # the smallest share of moving tokens that come to rest together
_NEAR = 0.3  # tokens that follow a leader are nearer than this, in units of 1/√(β|KᵀQ|)

_NOTED = ("growth", "place", "watch", "leads")  # what is known of each token between steps


class Moving(NamedTuple):
    """What the engine knows of the tokens that move."""

    x: Array
    work: Any
    scales: Array  # (m,): the rate of the model for each of them


class Rest:
    """Tokens that rest, and the tokens that they rest on.

    What is noted of a token between steps is kept for all tokens, also while they rest. A token
    that would move by more than `CLOSE` tol wakes, unless that has been so for less than tol in
    units of the time that has passed: meetings of clusters at late times are brief.
    """

    def __init__(self, x0: Array, work: Any, d: int, tol: float, sharpness: float) -> None:
        n = len(x0)
        self.leader = np.arange(n)
        self.moving = np.arange(n)
        self.resting: Resting | None = None
        self._first: float | None = None
        self._woken = self._skipped = 0
        self._longer = np.zeros(n)
        self._x, self._noted = x0.copy(), [getattr(work, name) for name in _NOTED]
        self._d, self._tol = d, tol
        self._near = min(1.0, _NEAR / math.sqrt(max(sharpness, 1e-300))) ** 2
        self._every = self._left = _EVERY
        self._disturbed = math.nan  # since when a resting token would move
        self._audited_by, self._speed, self._factor = 0.0, math.inf, math.inf

    @property
    def left(self) -> int:
        """The number of steps until the next look."""
        return self._left

    def record(self) -> RestRecord:
        """How tokens have rested so far."""
        return RestRecord(int(self._resting().sum()), self._first, self._woken, self._skipped)

    def count(self, steps: int, *, paused: bool) -> None:
        """Note that steps were taken, and whether they ended since a leader was fast."""
        self._skipped += steps * (len(self.leader) - len(self.moving))
        self._left = 0 if paused else self._left - steps

    def candidates(self, now: Moving) -> NDArray[np.int64] | None:
        """The row of the leader of each moving token close to one, and its own for the others.

        None if there are none.
        """
        leader = np.empty(len(now.x), dtype=np.int64)
        close = CLOSE * self._tol
        count = find_leaders(now.x, self._d, self._near, close**2, now.work.leads, leader)
        seldom = count == 0 and math.isnan(self._disturbed)
        self._every = min(2 * self._every, _SELDOM) if seldom else _EVERY
        self._left = self._every
        return leader if count else None

    def settle(self, now: Moving, leader: NDArray[np.int64], t: float) -> bool:
        """Let tokens rest that may, by the present velocities; returns whether any does."""
        lag = self._lags(now, leader)
        rows = np.flatnonzero((leader != np.arange(len(leader))) & (lag <= CLOSE * self._tol))
        tokens, onto = self.moving[rows], self.moving[leader[rows]]
        merging = np.isin(tokens, self.leader[self._resting()])
        if len(rows) < _LEAST * len(leader) and not merging.any():
            return False
        if merging.any():
            self._audited_by = t
        if self._x.shape[1] > self._d:
            grown = np.zeros(len(self.leader))
            grown[self.moving] = np.exp(now.x[:, self._d])
            shift = np.zeros(len(self.leader))
            shift[tokens] = grown[tokens] - grown[onto]
            self._longer += shift[self.leader]
        new = np.arange(len(self.leader))
        new[tokens] = onto
        self.leader = new[self.leader]
        self._first = t if self._first is None else self._first
        return bool(len(rows))

    def must_audit(self, t: float, speed: float) -> bool:
        """Whether resting tokens must be looked at, where leaders have at most this speed."""
        if len(self.moving) == len(self.leader):
            return False
        self._speed = min(self._speed, max(speed, 1e-300))
        late = t - self._disturbed > self._tol * t  # False while nothing is disturbed
        return late or t >= self._audited_by or speed >= self._limit

    @property
    def _limit(self) -> float:
        """The speed of leaders from which on a resting token may have to move."""
        return self._speed * self._factor

    def audit(self, whole: Moving, t: float, speed: float, step: float) -> bool:
        """Wake the tokens that would move, by velocities of all tokens; returns whether any does."""
        lag = self._lags(whole, self.leader)
        resting = self._resting()
        over = resting & ~(lag <= 2 * CLOSE * self._tol)
        self._audited_by = max(_LONG * t, 1.0)
        self._speed = max(speed, 1e-300)
        self._factor = _FASTER
        if not over.any():
            self._disturbed = math.nan
            return False
        if math.isnan(self._disturbed):
            self._disturbed = t
        if t + step - self._disturbed <= self._tol * t:
            self._left, self._factor = _EVERY, math.inf
            return False
        self._disturbed = math.nan
        woken = np.flatnonzero(over)
        self._x[woken] = whole.x[woken]
        growth, place, watch, leads = self._noted
        growth[woken], leads[woken] = 0.0, False
        place[woken] = whole.x[woken, : self._d]
        watch[woken] = watch[self.moving[np.searchsorted(self.moving, woken) - 1]]
        self.leader[woken], self._longer[woken] = woken, 0.0
        self._woken += len(woken)
        return True

    def whole(self, x: Array) -> Array:
        """The state of all tokens, where the moving ones are at `x`."""
        steps = Steps(np.zeros(1), x[None], np.empty((1, 0, *x.shape)), self.resting)
        return steps.state(0, self._d)

    def rearrange(self, now: Moving) -> None:
        """Note what is known of the moving tokens, and choose anew which they are."""
        self.note(now)
        self._x[self.moving] = now.x
        self.moving = np.flatnonzero(~self._resting())
        place = np.empty(len(self.leader), dtype=np.int64)
        place[self.moving] = np.arange(len(self.moving))
        self.resting = Resting(self.moving, place[self.leader], self._longer.copy())

    def note(self, now: Moving) -> Array:
        """Note what is known of the moving tokens; returns the record of rounding errors of all."""
        for noted, name in zip(self._noted, _NOTED, strict=True):
            mine = getattr(now.work, name)
            if noted is not mine:
                noted[self.moving] = mine
        return self._noted[_NOTED.index("watch")]

    def hand_over(self, work: Any) -> tuple[Any, Array]:
        """The workspace and the state of the tokens that move now, as far as they are known."""
        known = {name: noted[self.moving] for name, noted in zip(_NOTED, self._noted, strict=True)}
        return work._replace(**known), self._x[self.moving]

    def arm(self, clock: Array) -> None:
        """Let steps end where leaders become so fast that resting tokens may have to move."""
        clock[PAUSE] = self._limit if len(self.moving) < len(self.leader) else math.inf

    def _resting(self) -> NDArray[np.bool_]:
        """Whether each token rests."""
        rests: NDArray[np.bool_] = self.leader != np.arange(len(self.leader))
        return rests

    def followers(self) -> tuple[NDArray[np.int64], Array]:
        """Rows of tokens on which others rest, and how many of those come before each row."""
        resting = np.flatnonzero(self._resting())
        leaders = np.unique(self.leader[resting])
        counts = np.empty((len(self.moving), len(leaders)))
        for i, token in enumerate(leaders):
            counts[:, i] = np.searchsorted(resting[self.leader[resting] == token], self.moving)
        return np.searchsorted(self.moving, leaders), counts

    def members(self) -> list[NDArray[np.int64]]:
        """The tokens at the place of each moving one, itself included."""
        order = np.argsort(self.leader, kind="stable")
        ends = np.searchsorted(self.leader[order], self.moving, side="right")
        return np.split(order, ends[:-1])

    def _lags(self, now: Moving, leader: NDArray[np.int64]) -> Array:
        lag = np.empty(len(leader))
        lin = now.work.lin
        set_lags(now.x, lin.velocity, lin.blocks, now.scales, self._d, leader, lag)
        return lag
