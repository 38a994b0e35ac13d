"""What a model takes over from the previous one, if several models follow each other.

Engines for web pages are compiled from these functions, too: see packaging/wasm.
"""

from __future__ import annotations

import math

from parkade.base.types import Array
from parkade.engine.steps.clock import DRIFT, STEP
from parkade.engine.steps.trust import FIRST, LAST, LEAST, SINCE

_LATE = 1e6  # the largest first time on the clock of a model, in units of its duration
_CAUTIOUS = 0.01  # the first step that the engine itself would choose, in units of 1/|V|


def first_time(start: float, duration: float, drifts: bool) -> float:
    """The time on the clock of a model when it begins.

    If the time since the start of the run limits the steps, it is that time, as long as rounding
    leaves enough digits for the time within the model.
    """
    return min(start, _LATE * duration) if drifts else 0.0


def first_step(step: float, change: float, rate: float) -> float:
    """A first step from the last one of the previous model; 0 leaves the choice to the engine.

    If scores change by at most c, weights change by a factor between e^{-2c} and e^{2c}, and so
    do the speeds of tokens.
    """
    longest = step * math.exp(-2.0 * change)
    return longest if longest * rate > _CAUTIOUS else 0.0


def take_over(now: Array, then: Array, step: float) -> None:
    """Set the clock of a model, from that of the previous model, and its first step."""
    now[DRIFT] = then[DRIFT]
    now[STEP] = step


def take_over_watch(now: Array, then: Array, passed: float) -> None:
    """Take over the record of rounding errors (see `trust`), with times shifted by `passed`.

    Speeds change with the model, but the errors do not.
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
    """How many of the first tokens were no faster than `noise` at the start; see `trust`.

    It is all or none of them if tokens depend on later ones.
    """
    n = watch.shape[0]
    if not causal:
        return n if watch[n - 1, FIRST] <= noise else 0
    count = 0
    while count < n and watch[count, FIRST] <= noise:
        count += 1
    return count
