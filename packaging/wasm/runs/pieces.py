"""Several models one after the other, as in `CompiledStepper` and `Piecewise`.

The functions of the library that decide what a model takes over are compiled here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable
from numerics.symmetric import spectral_norm
from slots import floats

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.steps.clock import STEP, TIME
from parkade.engine.system import LOG2E
from parkade.engine.vectors import frobenius
from parkade.solve.lowering import handover

_first_step = njit()(handover.first_step)
_take_over = njit()(handover.take_over)
_take_over_watch = njit()(handover.take_over_watch)


class EarlierModel(NamedTuple):
    """The state at the end of the previous model."""

    clock: Array
    watch: Array  # see `engine.steps.trust`
    query: Array
    value: Array
    own_value: Array


EARLIER_MODEL = EarlierModel(np.empty(1), *(np.empty((1, 1)),) * 4)


@njit()
def start_clock(clock: Array, times: Array) -> None:
    """Set the clock of a model to its first time."""
    clock[TIME] = times[0]


@njit()
def in_time(steps: Array, taken: int, ended: bool, times: Array) -> None:
    """Convert times of a model to times of the run, in place.

    `times` are the first time on the clock of the model, and when it begins and ends.
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
    """The largest change of scores between two query matrices."""
    gap = floats(query.shape)
    for i in range(query.shape[0]):
        for j in range(query.shape[1]):
            gap[i, j] = query[i, j] - before[i, j]
    return spectral_norm(gap) / LOG2E


class RoundingWatch(NamedTuple):
    """The record of rounding errors (see `engine.steps.trust`); empty if there is noise."""

    tokens: Array  # compiled functions return arrays in tuples only


def watch_of(work: Any) -> RoundingWatch:
    """The record of rounding errors of a run."""
    raise TypeError("watch_of is called from compiled code only")


@overload(watch_of)
def _watch_of(work: Any) -> Any:
    def noted(work: Any) -> Any:
        return RoundingWatch(work.watch)

    def nothing(work: Any) -> Any:
        return RoundingWatch(floats((0, 0)))

    return noted if "watch" in work.fields else nothing


@register_jitable
def resume(system: Any, work: Any, before: EarlierModel) -> None:
    """Take over the step and the record of rounding errors from the previous model."""
    step = 0.0
    if _equal(system.value, before.value) and _equal(system.own_value, before.own_value):
        change = _change(system.query, before.query)
        step = _first_step(before.clock[STEP], change, frobenius(system.value))
    _take_over(work.clock, before.clock, step)
    _take_over_watch(work.watch, before.watch, work.clock[TIME] - before.clock[TIME])
