"""What is known at the start of a model, and what it leaves to the next.

Engines in pages are compiled from these functions, too: packaging/wasm.
"""

from __future__ import annotations

import math

from parkade.base.types import Array
from parkade.engine.steps.clock import DRIFT, STEP
from parkade.engine.steps.trust import FIRST, LAST, LEAST, SINCE

_LATE = 1e6  # what a clock may show at the start of a model, in units of how long that lasts
_CAUTIOUS = 0.01  # a step that the engine would choose at the start, in units of 1/|V|


def first_time(start: float, duration: float, drifts: bool) -> float:
    """What the clock of a model shows at first.

    Where steps are limited by the time since the start of the run, it is that time, as far as
    rounding leaves enough digits for the time of the model.
    """
    return min(start, _LATE * duration) if drifts else 0.0


def first_step(step: float, change: float, rate: float) -> float:
    """A first step by the last one of the model before; 0 leaves it to the engine.

    If scores change by at most c, weights change by a factor between e^{-2c} and e^{2c}, and
    with them how fast tokens move.
    """
    longest = step * math.exp(-2.0 * change)
    return longest if longest * rate > _CAUTIOUS else 0.0


def take_over(now: Array, then: Array, step: float) -> None:
    """Set the clock of a model by that of the model before, and its first step."""
    now[DRIFT] = then[DRIFT]
    now[STEP] = step


def take_over_watch(now: Array, then: Array, passed: float) -> None:
    """Go on with what was noted of rounding errors (see `trust`), at a time later by `passed`.

    Speeds change with the model, but not how large the errors are.
    """
    for k in range(now.shape[0]):
        for c in range(now.shape[1]):
            now[k, c] = then[k, c]
        now[k, FIRST] = 0.0
        if now[k, LAST] > 0.0:
            now[k, LEAST] /= now[k, LAST]
            now[k, LAST] = 0.0
        if now[k, SINCE] != 0.0:
            now[k, SINCE] += passed


def resting(watch: Array, noise: float, causal: bool) -> int:
    """The number of first tokens no faster than `noise` at the start; see `trust`.

    All or none, if tokens depend on later ones.
    """
    n = watch.shape[0]
    if not causal:
        return n if watch[n - 1, FIRST] <= noise else 0
    count = 0
    while count < n and watch[count, FIRST] <= noise:
        count += 1
    return count
