"""`RestState`: which tokens rest on which, and what is known of all tokens between steps.

`rest` says when tokens rest, and `looks` looks at them. The arrays are made once in a run, for all
n tokens. Steps have arrays of the m tokens that move, which are filled from these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.rest.leaders import count_followers
from parkade.engine.steps.clock import LIMIT, TIME
from parkade.engine.steps.trust import LEAST
from parkade.engine.vectors import has_moved

FIRST = 0  # when the first token came to rest; NaN if none has
DISTURBED = 1  # since when a resting token would move; NaN if none would
AUDITED_BY = 2  # when resting tokens are looked at again at the latest
REACH = 3  # how far tokens may move until then; 0 if there is no limit
_TIMES = 4

MOVING = 0  # the number of tokens that move
EVERY = 1  # of steps between two looks for tokens that may rest
LEFT = 2  # of steps until the next of these looks
WOKEN = 3  # of tokens that had to move again
SKIPPED = 4  # of steps of single tokens that were left out
_COUNTS = 5

FREQUENT = 4
"""Steps between two looks for tokens that may rest, at first."""


class Known(NamedTuple):
    """What is known of tokens between steps; see `stages.ImplicitWork`."""

    growth: Array  # (n,)
    place: Array  # (n, d)
    watch: Array  # (n, columns of `trust`)


class RestState(NamedTuple):
    """Which tokens rest on which, and what is known of all tokens, also while they rest."""

    leader: NDArray[np.int64]  # (n,): the token on which each one rests, or itself
    rests: NDArray[np.bool_]  # (n,)
    moving: NDArray[np.int64]  # (n,): first those that move, in their order
    rows: NDArray[np.int64]  # (n,): the place among those of each token, or of its leader
    longer: Array  # (n,): the length of a token, less that of its leader
    x: Array  # (n, columns): states when tokens last came to rest or woke
    known: Known
    audited: Array  # (n, d): where tokens were when resting ones were last looked at
    lag: Array  # (n,): how far tokens are from their leaders, or would be
    times: Array  # by the places above
    counts: NDArray[np.int64]  # by the places above
    sharpness: float  # the norm of βKᵀQ


def new_state(x: Array, known: Known, sharpness: float) -> RestState:
    """The state of a run that begins at `x`; `known` are arrays of its first steps."""
    n, d = known.place.shape
    state = RestState(
        np.empty(n, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros(n),
        np.empty_like(x),
        known,
        np.empty((n, d)),
        np.zeros(n),
        np.zeros(_TIMES),
        np.zeros(_COUNTS, dtype=np.int64),
        sharpness,
    )
    begin(state, x)
    return state


SIZES = _TIMES, _COUNTS
"""The numbers of times and of counts."""


@njit()
def begin(state: RestState, x: Array) -> None:
    """Let all tokens move."""
    n, d = state.audited.shape
    for k in range(n):
        state.leader[k] = state.moving[k] = state.rows[k] = k
        for c in range(x.shape[1]):
            state.x[k, c] = x[k, c]
        for c in range(d):
            state.audited[k, c] = x[k, c]
    state.times[FIRST] = state.times[DISTURBED] = np.nan
    state.counts[MOVING], state.counts[EVERY], state.counts[LEFT] = n, FREQUENT, 1


@register_jitable
def count_steps(state: RestState, steps: int) -> None:
    """Note that steps were taken."""
    counts = state.counts
    counts[SKIPPED] += steps * (state.leader.size - counts[MOVING])
    counts[LEFT] -= steps


@register_jitable
def steps_until_look(state: RestState) -> int:
    """How many steps to take before tokens are looked at."""
    return max(1, int(state.counts[LEFT]))


@register_jitable
def has_ended(x: Array, audited: Array, clock: Array, t_end: float) -> bool:
    """Whether steps have ended because of the time, or because tokens have moved so far."""
    return bool(clock[TIME] >= t_end or has_moved(x, audited, clock[LIMIT]))


@njit()
def note(state: RestState, x: Array, mine: Known) -> None:
    """Note the states of the tokens that move, and what is known of them."""
    m, known = state.counts[MOVING], state.known
    for i in range(m):
        k = state.moving[i]
        _copy_row(x, i, state.x, k)
        known.growth[k] = mine.growth[i]
        _copy_row(mine.place, i, known.place, k)
        _copy_row(mine.watch, i, known.watch, k)
    # A resting token is as fast as its leader: it changes nothing of the fastest so far.
    before, i = 0, 0
    for k in range(state.leader.size):
        if i < m and state.moving[i] == k:
            before, i = k, i + 1
        else:
            for c in range(LEAST, known.watch.shape[1]):
                known.watch[k, c] = known.watch[before, c]


@njit()
def _copy_row(source: Array, i: int, target: Array, k: int) -> None:
    """Copy a row of a matrix to a row of another one."""
    for c in range(source.shape[1]):
        target[k, c] = source[i, c]


@njit()
def rearrange(state: RestState) -> None:
    """Choose anew which tokens move; the moving ones have been noted."""
    m = 0
    for k in range(state.leader.size):
        if not state.rests[k]:
            state.moving[m], state.rows[k] = k, m
            m += 1
    for k in range(state.leader.size):
        state.rows[k] = state.rows[state.leader[k]]
    state.counts[MOVING] = m


@njit()
def hand_over(state: RestState, x: Array, mine: Known) -> None:
    """Set the states of the tokens that move, and what is known of them."""
    known = state.known
    for i in range(state.counts[MOVING]):
        k = state.moving[i]
        _copy_row(state.x, k, x, i)
        mine.growth[i] = known.growth[k]
        _copy_row(known.place, k, mine.place, i)
        _copy_row(known.watch, k, mine.watch, i)


@njit()
def arm(state: RestState, audited: Array, clock: Array) -> None:
    """Let steps end where tokens have moved so far that resting ones may have to move."""
    m = state.counts[MOVING]
    for i in range(m):
        _copy_row(state.audited, state.moving[i], audited, i)
    clock[LIMIT] = state.times[REACH] if m < state.leader.size else 0.0


@njit()
def number_leaders(state: RestState, number: NDArray[np.int64]) -> int:
    """Number the moving tokens on which others rest, -1 for others; returns how many there are."""
    m = state.counts[MOVING]
    for i in range(m):
        number[i] = -1
    for k in range(state.rows.size):
        if state.rests[k]:
            number[state.rows[k]] = 0
    total = 0
    for i in range(m):
        if number[i] == 0:
            number[i] = total
            total += 1
    return total


@njit(allocates=True)
def set_followers(
    state: RestState,
    number: NDArray[np.int64],
    leaders: NDArray[np.int64],
    followers: Array,
) -> None:
    """Set the rows of leaders by their numbers, and `System.followers`, which is 0 so far."""
    m = state.counts[MOVING]
    for i in range(m):
        if number[i] >= 0:
            leaders[number[i]] = i
    count_followers(state.moving[:m], state.rows, number, followers)


@njit()
def spread(part: Array, rows: NDArray[np.int64], out: Array) -> None:
    """Set states (s, n, columns) of all tokens from those (s, m, columns) of the moving ones."""
    for s in range(out.shape[0]):
        for k in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[s, k, c] = part[s, rows[k], c]
