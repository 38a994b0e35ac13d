"""Several models one after the other, and how far to trust each; as `Compiled` and `Piecewise`.

The functions of the library that decide about it are compiled here, from the same source.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable
from slots import floats
from symmetric import spectral_norm

from parkade.base.types import Array
from parkade.engine.clock import MOTION, STEP, TIME, TRUSTED
from parkade.engine.jit import njit
from parkade.engine.system import LOG2E
from parkade.engine.vectors import frobenius
from parkade.solve import handover

_first_step = njit()(handover.first_step)
_take_over = njit()(handover.take_over)
_resting_until = njit()(handover.resting_until)


class Earlier(NamedTuple):
    """What the model before has left."""

    clock: Array
    doubt: Array  # (n,), or empty
    query: Array
    value: Array
    own_value: Array


EARLIER = Earlier(*(np.empty(1),) * 2, *(np.empty((1, 1)),) * 3)


@njit()
def start_clock(clock: Array, times: Array) -> None:
    """Let the clock of a model begin."""
    clock[TIME] = times[0]
    clock[MOTION] = times[0]


@njit()
def in_time(steps: Array, taken: int, ended: bool, times: Array) -> None:
    """From the times of a model to those of the run.

    `times` are what the clock of the model showed at first, and when it begins and ends.
    """
    first, start, end = times
    for i in range(taken):
        steps[i] = min(start + (steps[i] - first), end)
    if ended and taken > 0:
        steps[taken - 1] = end


@njit()
def _equal(a: Array, b: Array) -> bool:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] != b[i, j]:
                return False
    return True


@njit()
def _change(query: Array, before: Array) -> float:
    """By how much scores may change."""
    gap = floats(query.shape)
    for i in range(query.shape[0]):
        for j in range(query.shape[1]):
            gap[i, j] = query[i, j] - before[i, j]
    return spectral_norm(gap) / LOG2E


class Doubt(NamedTuple):
    """How far rounding may have moved each token; empty where the method does not count that."""

    tokens: Array  # compiled functions return arrays in tuples only


def doubt_of(work: Any) -> Doubt:
    """The doubts of a run."""
    raise TypeError("doubt_of is called from compiled code only")


@overload(doubt_of)
def _doubt_of(work: Any) -> Any:
    def counted(work: Any) -> Any:
        return Doubt(work.doubt)

    def nothing(work: Any) -> Any:
        return Doubt(floats((0,)))

    return counted if "doubt" in work.fields else nothing


@register_jitable
def resume(system: Any, work: Any, before: Earlier) -> None:
    """Take over the step and what limits the trust."""
    step = 0.0
    if _equal(system.value, before.value) and _equal(system.own_value, before.own_value):
        change = _change(system.query, before.query)
        step = _first_step(before.clock[STEP], change, frobenius(system.value))
    _take_over(work.clock, before.clock, step)
    doubt = doubt_of(work).tokens
    for k in range(min(doubt.size, before.doubt.size)):
        doubt[k] = before.doubt[k]


@njit()
def _spread(x: Array, d: int) -> float:
    """The largest difference of two tokens in one of d coordinates."""
    widest = 0.0
    for c in range(d):
        low, high = x[0, c], x[0, c]
        for k in range(x.shape[0]):
            low, high = min(low, x[k, c]), max(high, x[k, c])
        widest = max(widest, high - low)
    return widest


@register_jitable
def trusted_until(
    system: Any, exact: bool, x: Array, clock: Array, times: Array, t_end: float, tol: float
) -> float:
    """Until when in the run a model is to be trusted; `exact` if its forces keep precision."""
    found = clock[TRUSTED]
    if not exact:
        spread = _spread(x, system.own_value.shape[0])
        found = _resting_until(spread, clock, system.value, system.accuracy, t_end, tol)
    return times[1] + (found - times[0])
