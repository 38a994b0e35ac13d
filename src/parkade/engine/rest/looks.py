"""Looks at tokens between steps: let those rest that may, and wake those that would move.

A token that would be farther than `_OVER` times `CLOSE` tol from its leader wakes, unless that has
been so for less than tol in units of the time that has passed: meetings of clusters at late times
are brief.

Natively and in pages this is the same source; `measures` says how far tokens are from leaders.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.rest.leaders import CLOSE, find_leaders
from parkade.engine.rest.measures import have_lengths, measure, whole
from parkade.engine.rest.rest_state import (
    AUDITED_BY,
    DISTURBED,
    EVERY,
    FIRST,
    FREQUENT,
    LEFT,
    REACH,
    WOKEN,
    RestState,
    arm,
)
from parkade.engine.steps.clock import STEP
from parkade.engine.vectors import has_moved

FEWEST = 10
"""The least number of tokens of which some may rest: with fewer, looks cost more than they save."""

_SELDOM, _LATER = 16, 32  # the most steps between two looks: until t = 1/tol, and then
# The factor of time between two audits: until t = 1/tol, and then. Tokens that move noticeably in a
# time t are no faster than 1/t, so later no distance is small by chance only.
_SOON, _LONG = 1.2, 1000.0
_FARTHEST = 0.1  # how far tokens may move between them, in radians
_OVER = 2.0  # the distance at which a token wakes, in units of that at which it may rest
_GROWTH = 3.0  # the least growth of distances that leads to an audit
_LEAST = 0.1  # the smallest share of moving tokens that come to rest together

_FEW = 630.0  # fewer than (n/_FEW)^1.5 of n tokens at one place save less than their place costs


class Moment(NamedTuple):
    """The tokens that move, between two steps."""

    x: Array  # (m, columns)
    previous: Array  # the same one step before; no rows if nobody may come to rest now
    audited: Array  # see `stages.ImplicitWork`
    clock: Array


@register_jitable
def look(state: RestState, model: Any, moment: Moment, t: float, tol: float) -> bool:
    """Let tokens rest that may, and wake those that would move; returns whether any does."""
    changed = False
    if state.counts[LEFT] <= 0 and len(moment.previous) > 0:
        changed = settle(state, model, moment, t, tol)
    if _any_rests(state) and must_audit(state, moment, t, tol):
        changed = audit(state, model, moment, t, tol) or changed
        if not changed:
            arm(state, moment.audited, moment.clock)
    return changed


compiled_look = njit(allocates=True)(look)
"""`look` as one compiled function, where `measure` is compiled."""


@register_jitable
def settle(state: RestState, model: Any, moment: Moment, t: float, tol: float) -> bool:
    """Let tokens rest that may; returns whether any does."""
    x, d = moment.x, state.audited.shape[1]
    row = np.empty(len(x), dtype=np.int64)
    count = find_leaders(x, d, CLOSE * tol, row)
    # Those that cannot come to rest whatever their distances are need no measure.
    for k in range(state.lag.size):
        state.lag[k] = 0.0
    chosen = count > 0 and _choose(state, moment, row, tol)
    if chosen:
        chosen = measure(model, state, x, _led_by(state, row)) and _choose(state, moment, row, tol)
    late = t * tol > 1.0
    calm = count == 0 and late and math.isnan(state.times[DISTURBED])
    if calm or not (chosen or _any_rests(state)):
        state.counts[EVERY] = min(2 * state.counts[EVERY], _LATER if late else _SELDOM)
    else:
        state.counts[EVERY] = FREQUENT
    state.counts[LEFT] = state.counts[EVERY]
    if not chosen:
        return False
    if have_lengths(model, x, d):
        _lengthen(state, x[:, d], row)
    _join(state, row, t)
    return True


@njit(allocates=True)
def _led_by(state: RestState, row: NDArray[np.int64]) -> NDArray[np.int64]:
    """The leader of each token, if those that move had leaders in these rows."""
    leader = state.leader.copy()
    for i in range(row.size):
        leader[state.moving[i]] = state.moving[row[i]]
    return leader


@njit(allocates=True)
def _choose(state: RestState, moment: Moment, row: NDArray[np.int64], tol: float) -> bool:
    """Choose who comes to rest on the leader in its row; `row` of others becomes their own.

    Returns False if it is not worth the change.
    """
    m, near = row.size, CLOSE * tol
    for i in range(m):
        if row[i] != i:
            # One that only passes its leader was farther away.
            before = _distance(moment.previous, i, row[i], state.audited.shape[1])
            if not (before <= _OVER * near and state.lag[state.moving[i]] <= near):
                row[i] = i
    size = np.zeros(m)  # of what moves with each moving token
    for k in range(state.rows.size):
        size[state.rows[k]] += 1.0
    joined = size.copy()
    for i in range(m):
        if row[i] != i:
            joined[row[i]] += size[i]
    total, worth = 0, (state.leader.size / _FEW) ** 1.5
    for i in range(m):
        if not joined[row[i]] > worth:
            row[i] = i
        total += row[i] != i
    return total > 0 and (total >= _LEAST * m or _merges(state, row))


@njit()
def _distance(x: Array, i: int, j: int, d: int) -> float:
    """The distance of two tokens."""
    square = 0.0
    for c in range(d):
        square += (x[i, c] - x[j, c]) ** 2
    return float(np.sqrt(square))


@njit()
def _merges(state: RestState, row: NDArray[np.int64]) -> bool:
    """Whether a token on which others rest is to rest on another one."""
    for k in range(state.rows.size):
        if state.rests[k] and row[state.rows[k]] != state.rows[k]:
            return True
    return False


@register_jitable
def _lengthen(state: RestState, logs: Array, row: NDArray[np.int64]) -> None:
    """Set how much longer tokens are than the leaders in these rows, from their ln r."""
    grown = np.exp(logs)
    _add_lengths(state, grown - grown[row])


@njit()
def _add_lengths(state: RestState, shift: Array) -> None:
    """Add to how much longer tokens are, by the rows of their leaders."""
    for k in range(state.rows.size):
        state.longer[k] += shift[state.rows[k]]


@njit()
def _join(state: RestState, row: NDArray[np.int64], t: float) -> None:
    """Let tokens rest on the leaders in these rows."""
    if _merges(state, row):
        state.times[AUDITED_BY] = t
    if math.isnan(state.times[FIRST]):
        state.times[FIRST] = t
    for k in range(state.leader.size):
        i = state.rows[k]
        state.leader[k] = state.moving[row[i]]
        state.rests[k] = state.rests[k] or row[i] != i


@njit()
def _any_rests(state: RestState) -> bool:
    """Whether a token rests."""
    total = 0
    for k in range(state.rests.size):
        total += state.rests[k]
    return total > 0


@njit()
def must_audit(state: RestState, moment: Moment, t: float, tol: float) -> bool:
    """Whether resting tokens may have to move: others have moved, or much time has passed."""
    late = t - state.times[DISTURBED] > tol * t  # False while nothing is disturbed
    if late or t >= state.times[AUDITED_BY]:
        return True
    return has_moved(moment.x, moment.audited, state.times[REACH])


@register_jitable
def audit(state: RestState, model: Any, moment: Moment, t: float, tol: float) -> bool:
    """Wake tokens that would move; returns whether any does."""
    if not measure(model, state, moment.x, state.leader):
        _distrust(state)
    if not _examine(state, moment, t, tol):
        return False
    _wake(state, whole(state, model, moment.x), tol)
    return True


@njit()
def _distrust(state: RestState) -> None:
    """Let the distance of each resting token be one that nobody knows."""
    for k in range(state.lag.size):
        state.lag[k] = np.inf if state.rests[k] else 0.0


@njit()
def _is_over(state: RestState, k: int, tol: float) -> bool:
    """Whether a token rests that is too far from its leader, or nobody knows how far."""
    return state.rests[k] and not state.lag[k] <= _OVER * CLOSE * tol


@njit()
def _examine(state: RestState, moment: Moment, t: float, tol: float) -> bool:
    """Note the lags of resting tokens; returns whether those that are over have to wake."""
    x, times, over, worst = moment.x, state.times, False, 0.0
    for k in range(state.leader.size):
        if _is_over(state, k, tol):
            over = True
        elif state.rests[k]:
            worst = max(worst, state.lag[k])
    times[AUDITED_BY] = max((_LONG if t * tol > 1.0 else _SOON) * t, 1.0)
    for i in range(x.shape[0]):
        for c in range(state.audited.shape[1]):
            state.audited[state.moving[i], c] = x[i, c]
    # A token that moves by δ changes weights by a factor of e^{β|KᵀQ|δ} at most.
    growth = max(_GROWTH, CLOSE * tol / max(worst, 1e-300))
    times[REACH] = min(_FARTHEST, math.log(growth) / state.sharpness)
    if not over:
        times[DISTURBED] = np.nan
        return False
    state.counts[LEFT] = FREQUENT
    if math.isnan(times[DISTURBED]):
        times[DISTURBED] = t
    if t + moment.clock[STEP] - times[DISTURBED] <= tol * t:
        times[REACH] = 0.0
        return False
    times[DISTURBED] = np.nan
    return True


@njit()
def _wake(state: RestState, x: Array, tol: float) -> None:
    """Wake the tokens that are over, at their places in the state `x` of all tokens."""
    known = state.known
    for k in range(state.leader.size):
        if _is_over(state, k, tol):
            known.growth[k] = 0.0
            for c in range(x.shape[1]):
                state.x[k, c] = x[k, c]
            for c in range(state.audited.shape[1]):
                state.audited[k, c] = known.place[k, c] = x[k, c]
            state.leader[k], state.longer[k], state.rests[k] = k, 0.0, False
            state.counts[WOKEN] += 1
