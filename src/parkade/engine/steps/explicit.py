"""Dormand–Prince 5(4) on the sphere, adaptive, with dense output.

The stages evaluate F(y) = f(y/|y|), an extension of the vector field f to all space under
which the sphere is invariant. A Runge–Kutta step of F keeps its order, and renormalising
its end moves it by O(h^6), below the error of the step. The seventh stage is the first of
the next step.

Kinks of the velocity, which the error estimate may miss, have a bound of their own (`kinks`): a
step that they make too inexact is followed by one that ends at the first of them.

The coefficients are in `tableau`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from parkade.base.types import Array
from parkade.engine.compile.jit import interpreted, njit
from parkade.engine.flow.velocity import evaluate, retract, tick
from parkade.engine.steps.clock import ERROR, REJECTED, STARTED, STEP, TIME, new_clock
from parkade.engine.steps.integrator import Goal, Integrator, Steps
from parkade.engine.steps.kinks import kink_error
from parkade.engine.steps.tableau import DORMAND_PRINCE
from parkade.engine.steps.trust import ROUNDING, drift_speed, new_watch, note_growth, note_rest
from parkade.engine.system import LOG2E, Dims, System
from parkade.engine.vectors import (
    REACH,
    combine,
    copy,
    frobenius,
    largest,
    noise_speed,
    normalize,
)

_ORDER = 5
_A, _E, _D = DORMAND_PRINCE.A, DORMAND_PRINCE.error, DORMAND_PRINCE.dense
_NODES = DORMAND_PRINCE.nodes

# Step controller (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996),
# section IV.2): h ← h · 0.9 err^-α err_old^β.
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0
_BETA = 0.04
_ALPHA = 1 / _ORDER - 0.75 * _BETA

LAND = 0.999
"""The longest step after one that ended too far behind a kink, relative to it."""


class ExplicitWork(NamedTuple):
    """The clock of a run between calls, and the arrays it works in."""

    clock: Array
    stages: Array  # (7, n, d); the first is the velocity at the tokens
    y: Array  # (n, d)
    error: Array  # (n, d)
    watch: Array  # see `trust`


def workspace(n: int, d: int, *, causal: bool, stores: bool = True) -> ExplicitWork:
    """A clock and arrays for a run of n tokens in dimension d."""
    y, error = np.empty((2, n, d))
    return ExplicitWork(new_clock(), np.empty((7, n, d)), y, error, new_watch(n, d))


@njit()
def _difference(x: Array, y: Array, scale: float, out: Array) -> None:
    """Set out = x − scale·y."""
    left, right, result = x.reshape(x.size), y.reshape(y.size), out.reshape(out.size)
    for i in range(result.size):
        result[i] = left[i] - scale * right[i]


@njit()
def _point(system: System, s: int, h: float, x: Array, stages: Array, out: Array) -> None:
    """The argument of stage s: x + h Σ A_si stage_i, normalised."""
    combine(_A[s, :s], stages, out)
    _difference(x, out, -h, out)
    retract(system, out)


@njit()
def _estimate(h: float, stages: Array, error: Array) -> float:
    """The largest error of a token in a step."""
    combine(_E, stages, error)
    return h * largest(error)


@njit()
def _dense(h: float, x: Array, y: Array, stages: Array, out: Array) -> None:
    """What `interpolate` needs of the step from x to y."""
    combine(_D, stages, out[2])
    size = x.size
    before, after = x.reshape(size), y.reshape(size)
    first, last = stages[0].reshape(size), stages[6].reshape(size)
    left, right, bend = out[0].reshape(size), out[1].reshape(size), out[2].reshape(size)
    for e in range(before.size):
        step = after[e] - before[e]
        left[e] = h * first[e] - step
        right[e] = step - h * last[e] - left[e]
        bend[e] *= h


@register_jitable
def _start(system: System, dims: Dims, x: Array, work: ExplicitWork, goal: Goal) -> None:
    """Set the first stage to the velocity, and the first step if the clock has none."""
    t_end, tol, _ = goal
    v, w = work.stages[0], work.stages[1]
    tick(system, work.clock[TIME])
    evaluate(system, dims, x, v)
    speed = largest(v)
    h = min(t_end, 0.01 / speed) if speed > 0 else t_end
    _difference(x, v, -h, work.y)
    retract(system, work.y)
    evaluate(system, dims, work.y, w)
    _difference(w, v, 1.0, w)
    bend = max(largest(w) / h, speed)
    if bend > 0:
        h = min(100 * h, (0.01 * tol / bend) ** (1 / _ORDER), t_end)
    h = min(h, REACH * LOG2E / max(frobenius(system.query) * speed, 1e-300))
    if work.clock[STEP] == 0.0:
        work.clock[STEP] = h
    work.clock[ERROR] = 1e-4
    work.clock[STARTED] = 1.0


@njit()
def advance(
    system: System, dims: Dims, x: Array, work: ExplicitWork, goal: Goal, steps: Steps
) -> int:
    """Take steps from `x`, which is updated, until t_end or until `steps` is full.

    The return value says how many were taken, or -1 if the step size collapsed.

    As Python runs this function, velocities are shared out to all cores; the result is the
    same, bit for bit.
    """
    clock, stages, y, error, watch = work
    t_end, tol, fixed = goal
    times, tokens, dense = steps
    noise = noise_speed(system.value, system.accuracy)
    unsure = max(ROUNDING, system.accuracy)
    if clock[STARTED] == 0.0:
        _start(system, dims, x, work, goal)
    count = 0
    rejected = False
    while count < times.size and clock[TIME] < t_end:
        t = clock[TIME]
        h = clock[STEP]
        # Reach t_end exactly, without a tiny step at the end.
        last = t + 1.000001 * h >= t_end
        if last:
            h = t_end - t
        elif not t + h > t:
            return -1
        for s in range(1, 7):
            _point(system, s, h, x, stages, y)
            tick(system, t + _NODES[s] * h)
            evaluate(system, dims, y, stages[s])
        if not fixed:
            err = _estimate(h, stages, error) / tol
            kink, place = kink_error(system, h, x, y, stages, tol, error)
            if kink > 1.0:
                clock[REJECTED] += 1
                rejected = True
                clock[STEP] = h * min(place, LAND)
                continue
            if not err <= 1.0:
                clock[REJECTED] += 1
                rejected = True
                shrink = _SAFETY * err**-_ALPHA if err < 1e300 else _SHRINK
                clock[STEP] = h * max(_SHRINK, shrink)
                continue
            factor = _SAFETY * max(err, 1e-10) ** -_ALPHA * clock[ERROR] ** _BETA
            factor = min(_GROW, max(_SHRINK, factor))
            if rejected:
                factor = min(1.0, factor)
            if not last or factor < 1.0:
                clock[STEP] = h * factor
            clock[ERROR] = max(err, 1e-4)
            rejected = False
        _dense(h, x, y, stages, dense[count])
        end, speed = t_end if last else t + h, largest(stages[0])
        note_growth(clock, watch, x, stages[0], unsure, tol, system.causal)
        note_rest(clock, end, speed, drift_speed(system, x, speed, noise), tol)
        copy(y, x)
        copy(stages[6], stages[0])
        clock[TIME] = end
        times[count] = clock[TIME]
        copy(y, tokens[count])
        count += 1
    return count


@njit()
def interpolate(theta: float, start: Array, end: Array, dense: Array, out: Array) -> None:
    """Tokens at a fraction `theta` of a step from its ends (n, d) and dense arrays (3, n, d)."""
    for k in range(out.shape[0]):
        for c in range(out.shape[1]):
            x = start[k, c]
            inner = dense[1, k, c] + (1 - theta) * dense[2, k, c]
            step = end[k, c] - x + (1 - theta) * (dense[0, k, c] + theta * inner)
            out[k, c] = x + theta * step
    normalize(out)


EXPLICIT = Integrator(
    name="explicit",
    order=_ORDER,
    stages=6,  # the seventh is the first of the next step
    dense=3,
    workspace=workspace,
    advance=advance,
    advance_on_all_cores=interpreted(advance),
    interpolate=interpolate,
)
