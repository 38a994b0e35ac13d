"""What one model leaves to the next, and how far to trust it.

Engines in pages are compiled from these functions, too: packaging/wasm.
"""

from __future__ import annotations

import math

from parkade.base.types import Array
from parkade.engine.clock import MOTION, STEP, TIME
from parkade.engine.vectors import noise_speed

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
    found = step * math.exp(-2.0 * change)
    return found if found * rate > _CAUTIOUS else 0.0


def take_over(now: Array, then: Array, step: float) -> None:
    """Set the clock of a model by that of the model before, and its first step."""
    now[MOTION] += then[MOTION] - then[TIME]
    now[STEP] = step


def resting_until(
    spread: float, clock: Array, value: Array, accuracy: float, t_end: float, tol: float
) -> float:
    """When rounding may have moved tokens that rest by tol; infinite if that is after t_end.

    A single cluster, in which coordinates have no larger `spread` than tol, stays one.
    """
    if spread < tol:
        return math.inf
    limit = float(clock[MOTION] + tol / noise_speed(value, accuracy))
    return limit if limit < t_end else math.inf
