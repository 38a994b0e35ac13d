"""What the kinks of ReLU may cost an explicit step, and where they are.

Where a neuron z = ⟨w, x⟩ + b of a token changes its sign, the velocity has a kink. A step knows of
it only by the velocities at its stages, and the error estimate of Dormand–Prince is small for some
places of a kink where the error is not. But the neuron is known at both ends of a step, with its
slope, so a cubic says where its sign changes, and the error has a bound.

Let τ be the time in units of the step, and u the column of the second layer that belongs to the
neuron. Behind the kink, ReLU adds the force u·|z|, and a method with nodes c_i and weights b_i is
wrong by ∫|z|dτ − Σ b_i |z(c_i)|. If z is linear and its kink is at θ, this is g(θ) dz/dτ with

    g(θ) = (1 − θ)²/2 − Σ_{c_i > θ} b_i (c_i − θ),      |g| ≤ 0.023,

and near the ends |g| ≤ 0.131 min(θ, 1 − θ). If z turns, ReLU adds or leaves out a bump, and the
error is at most the largest weight b_i times its height.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle, njit
from parkade.engine.field.field import NGPT, PERI, RELU, Field
from parkade.engine.field.velocity import chunk, chunks, clock_of, forces, projected
from parkade.engine.system import System
from parkade.engine.vectors import fast_dot

MIDDLE, END, BUMP = 0.023, 0.131, 0.65
"""Bounds on the error of the quadrature: times the slope, the nearer end, and the bump."""

ALLOWED = 3.0
"""The bound of an accepted step, in units of tol: errors are mostly a third of it."""


@njit()
def cubic(tau: float, start: float, end: float, slope: float, last: float) -> float:
    """The cubic on [0, 1] that has these values and slopes at its ends."""
    step = end - start
    bend = (1.0 - tau) * (slope - step) - tau * (last - step)
    return start + tau * (step + (1.0 - tau) * bend)


@njit(error_model="numpy")
def loss(start: float, end: float, slope: float, last: float) -> tuple[float, float]:
    """A bound on the error of ∫ max(z, 0) dτ for a neuron, and the place of its kink, 0 if none.

    The neuron is given by its values and slopes at both ends of a step, in units of the step.
    """
    rise, highest, lowest = end - start, max(start, end), min(start, end)
    bound, weight, turns = MIDDLE * max(abs(slope), abs(last), abs(rise)), END, slope * last < 0.0
    if turns:  # twice as many kinks, perhaps
        middle = cubic(slope / (slope - last), start, end, slope, last)
        highest, lowest = max(highest, middle), min(lowest, middle)
        bound, weight = 2.0 * bound, BUMP
    if highest <= 0.0 or lowest >= 0.0:
        return 0.0, 0.0
    place = 0.0
    if (start > 0.0) != (end > 0.0):
        place = -start / rise  # of a line, then one iteration towards that of the cubic
        place -= cubic(place, start, end, slope, last) / rise
        place = min(1.0, max(0.0, place))
    return min(bound, weight * min(highest, -lowest)), place


@njit()
def lost_forces(field: Field, h: float, x: Array, y: Array, stages: Array, out: Array) -> bool:
    """Set for each token the bound on its lost force, and the place of its worst kink."""
    d, kinked = field.own_value.shape[0], False
    for k in range(x.shape[0]):
        total, worst, place = 0.0, 0.0, 0.0
        before, after = x[k][:d], y[k][:d]
        for i in range(field.inner.shape[0]):
            row = field.inner[i]
            start = fast_dot(row, before) + field.inner_bias[i]
            end = fast_dot(row, after) + field.inner_bias[i]
            slope = h * fast_dot(row, stages[0, k][:d])
            if start * slope >= 0.0 and start * end > 0.0:
                continue  # away from the kink
            last = h * fast_dot(row, stages[6, k][:d])
            lost, where = loss(start, end, slope, last)
            if lost > 0.0:
                square = 0.0
                for c in range(d):
                    square += field.outer[c, i] ** 2
                lost *= np.sqrt(square)
                total += lost
                if lost > worst:
                    worst, place = lost, where
        out[k, 0], out[k, 1] = total, place
        kinked = kinked or total > 0.0
    return kinked


@njit(allocates=True, error_model="numpy")
def _by_clocks(field: Field, y: Array, out: Array) -> None:
    """Divide forces in the first column by the clocks of tokens."""
    n, d = y.shape[0], field.own_value.shape[0]
    if field.norm != NGPT and field.norm != PERI:
        for k in range(n):
            out[k, 0] /= clock_of(field, 1.0, y[k, d] if y.shape[1] > d else 0.0)
        return
    room = projected(field, y)
    for i in range(chunks(n)):
        lo, hi = chunk(n, i)
        force = forces(field, room, lo, hi)
        for k in range(lo, hi):
            square = 0.0
            for c in range(d):
                square += (force[k - lo, c] + field.leading * y[k, c]) ** 2
            out[k, 0] /= clock_of(field, np.sqrt(square), y[k, d] if y.shape[1] > d else 0.0)


@njit(apart=True)
def _of_field(
    field: Field, h: float, x: Array, y: Array, stages: Array, tol: float, out: Array
) -> tuple[float, float]:
    result, first = 0.0, 1.0
    if field.activation != RELU or field.inner.shape[0] == 0:
        return result, first
    if not lost_forces(field, h, x, y, stages, out):
        return result, first
    _by_clocks(field, y, out)
    for k in range(out.shape[0]):
        error = h * out[k, 0] / (ALLOWED * tol)
        result = max(result, error)
        if error > 1.0:
            first = min(first, max(out[k, 1], 0.9 / np.sqrt(error)))
    return result, first


def kink_error(
    system: System | Field, h: float, x: Array, y: Array, stages: Array, tol: float, out: Array
) -> tuple[float, float]:
    """What kinks may cost a step from x to y, relative to what is allowed; and a shorter step.

    The latter, in units of the step, ends at the first kink that costs too much, unless a longer
    one may cross it: the cost grows like the square of the step. `out` is a working array (n, d).
    """
    return _of_field(system, h, x, y, stages, tol, out) if isinstance(system, Field) else (0.0, 1.0)


@overload(kink_error)
def _kink_error(system: Any, h: Any, x: Any, y: Any, stages: Any, tol: Any, out: Any) -> Any:
    def kinked(
        system: Any, h: Any, x: Any, y: Any, stages: Any, tol: Any, out: Any
    ) -> tuple[float, float]:
        return _of_field(system, h, x, y, stages, tol, out)

    def smooth(
        system: Any, h: Any, x: Any, y: Any, stages: Any, tol: Any, out: Any
    ) -> tuple[float, float]:
        return 0.0, 1.0

    return kinked if is_bundle(system, Field) else smooth
