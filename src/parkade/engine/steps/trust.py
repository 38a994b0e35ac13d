"""How long a run can be trusted, because of what rounding errors may have done to it.

Two things end the trust, and both are noted step by step, so that a longer run never trusts more.

*Rest.* Where forces are differences of rounded numbers, rounding may move tokens that are slower
than that. It is noted how far (`note_rest`).

*Growth.* The velocity of an autonomous system solves the equation of its small perturbations. So if
tokens were at rest up to a speed s, and are now at a speed S, then a rounding error of that time
has become S/s times as large. Tokens that leave an unstable equilibrium leave it where such errors
lead them (`note_growth`). Where an error is no more than a shift in time, small compared to the
time that has passed, it does not count: tokens may rest for t = 1e50 and then meet within t = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle, njit
from parkade.engine.field.field import Field
from parkade.engine.steps.clock import DRIFT, TIME, TRUSTED
from parkade.engine.vectors import NOISE, frobenius

FIRST = 0  # the speed of the fastest token up to this one, when the model began; 0 before that
LEAST = 1  # the lowest that this speed has been; 0 if not known
LAST = 2  # what it was in the last step; 0 if `LEAST` is relative to it
SINCE = 3  # since when rounding errors of the slowest moment exceed tol; 0 if they do not
DOUBT = 4  # how far lost forces may have moved this token so far
PLACE = 5  # where it was in the slowest moment: d numbers

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The rounding error of the place of a token."""

_AWAY = 10.0  # how far tokens must have left an equilibrium, in units of tol


def new_watch(n: int, d: int) -> Array:
    """An empty record of n tokens in dimension d, one row each."""
    return np.zeros((n, PLACE + d))


@njit()
def note_growth(
    clock: Array, watch: Array, x: Array, velocity: Array, error: float, tol: float, causal: bool
) -> None:
    """Note at the start of a step how much rounding errors have grown.

    `error` is how large they are when they arise. Under the causal mask the first tokens, any
    number of them, are a system of their own; otherwise only all tokens are.
    """
    n, d = watch.shape[0], watch.shape[1] - PLACE
    square, away = 0.0, 0.0
    for k in range(n):
        size, gap = 0.0, 0.0
        for c in range(d):
            size += velocity[k, c] * velocity[k, c]
            gap += (x[k, c] - watch[k, PLACE + c]) ** 2
        square, away = max(square, size), gap if causal else max(away, gap)
        if not (causal or k == n - 1):
            continue
        row, speed = watch[k], np.sqrt(square)
        if row[FIRST] == 0.0:
            row[FIRST] = max(speed, 1e-300)
        if row[LAST] == 0.0:
            row[LEAST] *= speed
        row[LAST] = speed
        if row[LEAST] == 0.0 or speed <= row[LEAST]:
            row[LEAST], row[SINCE] = speed, 0.0
            for j in range(k if causal else 0, k + 1):
                for c in range(d):
                    watch[j, PLACE + c] = x[j, c]
        elif error * speed > tol * row[LEAST] and error > tol * clock[TIME] * row[LEAST]:
            if row[SINCE] == 0.0:
                row[SINCE] = clock[TIME]
            if away > (_AWAY * tol) ** 2:
                clock[TRUSTED] = min(clock[TRUSTED], row[SINCE])
        else:
            row[SINCE] = 0.0


@njit()
def note_rest(clock: Array, end: float, speed: float, noise: float, tol: float) -> None:
    """Note how far rounding, at the speed `noise`, may move tokens in the step until `end`.

    It does not count as long as the model moves them faster. But once rounding has had the time to
    move them by `tol`, later motion may be due to it.
    """
    if speed > noise and clock[DRIFT] <= tol:
        clock[DRIFT] = 0.0
        return
    moved = (end - clock[TIME]) * noise
    if clock[DRIFT] + moved > tol:
        rest = max(0.0, tol - clock[DRIFT]) / noise
        clock[TRUSTED] = min(clock[TRUSTED], clock[TIME] + rest)
    clock[DRIFT] += moved


@njit()
def drift_speed(system: Any, x: Array, speed: float, noise: float) -> float:
    """The speed that rounding may give to all tokens; at most `noise`, and 0 if there are leaders.

    It is computed if no token is faster than that. Forces between tokens that are all at one place
    are exact, but not those of an MLP or by harmonic sums.
    """
    if _has_leaders(system):
        return 0.0
    if speed > noise or _is_absolute(system):
        return noise
    d = system.own_value.shape[0]
    widest, largest = 0.0, 0.0
    for c in range(d):
        low, high = x[0, c], x[0, c]
        for k in range(x.shape[0]):
            low, high = min(low, x[k, c]), max(high, x[k, c])
        widest = max(widest, high - low)
    for k in range(x.shape[0]):
        square = 0.0
        for r in range(d):
            total = 0.0
            for c in range(d):
                total += system.own_value[r, c] * x[k, c]
            square += total * total
        largest = max(largest, square)
    terms = widest * frobenius(system.value) + np.sqrt(largest)
    return min(noise, NOISE * float(terms))


def _has_leaders(system: Any) -> bool:
    """Whether every cluster has a leader, whose force is a sum of terms as small as itself."""
    raise TypeError("_has_leaders is called from compiled code only")


@overload(_has_leaders)
def _choose_leaders(system: Any) -> Any:
    def of_head(system: Any) -> Any:
        return system.causal

    def of_field(system: Any) -> Any:
        return system.causal and system.inner.shape[0] == 0

    return of_field if is_bundle(system, Field) else of_head


def _is_absolute(system: Any) -> bool:
    """Whether forces have rounding errors where all tokens are at one place."""
    raise TypeError("_is_absolute is called from compiled code only")


@overload(_is_absolute)
def _choose_absolute(system: Any) -> Any:
    def of_head(system: Any) -> Any:
        return system.accuracy > 0.0 or system.frozen.shape[0] > 0

    def of_field(system: Any) -> Any:
        return system.inner.shape[0] > 0

    return of_field if is_bundle(system, Field) else of_head
