"""Drift and noise one after the other: Strang's splitting on the sphere, with adaptive steps.

    dθ_k = velocity dt + √(2/κ) P_θ∘dW

A step is the noise of its first half, a Runge–Kutta step of the drift over all of it, and the noise
of its second half. What is left out at first is h^{3/2} times a normal number, from the commutator
of drift and noise, so errors add up to O(h).

The noise moves each token by itself, and that is cheap. It is followed on finer cells of length δ,
along geodesics: θ ← exp_θ(√(2/κ) P_θ ΔW). The fields P e_i do not commute, so each cell leaves an
error of √(2(d−1)) δ/κ (root mean square), and a step √(2(d−1) hδ)/κ. There are as many cells as
keep this below tol, so δ ≈ h², and errors are O(h) in all, in every dimension, for common noise as
well, without iterated integrals. There are at most CELLS of them, and steps that need more are not
taken. Where that limits steps, δ and not h makes most of the error, which is O(√h) then.

Steps are root/2^m long and begin at multiples of their length. One step is compared with two of
half its length along the same path; these count if the difference is at most tol. Times that are
wanted between the ends of steps, and the end of the run, are reached by a side step that leaves the
steps as they are. So the same seed gives the same path for all tolerances and all times.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from parkade.base.types import Array
from parkade.engine.compile.jit import interpreted, njit
from parkade.engine.compile.threads import share_out
from parkade.engine.field.field import Field
from parkade.engine.flow.velocity import evaluate, retract, tick
from parkade.engine.steps.brownian import BrownianNoise, Span, scatter_rows
from parkade.engine.steps.clock import REJECTED, STEP, TIME, new_clock
from parkade.engine.steps.integrator import Goal, Integrator, Steps
from parkade.engine.system import Dims
from parkade.engine.vectors import copy, largest

CELLS = 1024
"""Cells of a step, at most."""

FEWEST = 4
"""Cells of a step, at least: one for each half of each half."""

SHORTEST = 2.0**-40
"""The shortest step, in roots."""

GROW = 0.2
"""The error, relative to tol, below which the next step is twice as long."""

_CHUNK = 128  # tokens per task
_NEXT, _READY = 0, 1  # places in `SplittingWork.state`


class SplittingWork(NamedTuple):
    """The clock of a run between calls, its noise, and the arrays it works in."""

    clock: Array
    noise: BrownianNoise
    wanted: Array  # increasing times at which steps are to end; the last is t_end
    state: Array  # (2,): the number of the next one, and whether `fine` is the next step
    slope: Array  # (n, columns)
    point: Array
    coarse: Array
    middle: Array
    fine: Array


def workspace(n: int, d: int, *, causal: bool = True, stores: bool = True) -> SplittingWork:
    """A clock and arrays for n tokens with d columns, without noise and with no wanted times.

    A run sets these, and the first step on the clock.
    """
    still = BrownianNoise(0.0, False, 1.0, np.zeros(2, dtype=np.uint64))
    room = (np.empty((n, d)) for _ in range(5))
    return SplittingWork(new_clock(), still, np.array([np.inf]), np.zeros(2), *room)


def scatter(noise: BrownianNoise, x: Array, d: int, span: Span) -> None:
    """Move all tokens by noise: on all cores from the interpreter, on one in compiled code."""
    n = len(x)
    share_out(
        (scatter_rows, noise, x, d, span, lo, min(n, lo + _CHUNK)) for lo in range(0, n, _CHUNK)
    )


@overload(scatter)
def _scatter(noise: Any, x: Any, d: Any, span: Any) -> Any:
    def in_turn(noise: Any, x: Any, d: Any, span: Any) -> None:
        scatter_rows(noise, x, d, span, 0, x.shape[0])

    return in_turn


@njit()
def _ahead(x: Array, slope: Array, h: float, out: Array) -> None:
    """Set out = x + h·slope."""
    size = x.size
    start, change, end = x.reshape(size), slope.reshape(size), out.reshape(size)
    for e in range(size):
        end[e] = start[e] + h * change[e]


@register_jitable
def _drift(field: Field, dims: Dims, x: Array, t: float, h: float, work: SplittingWork) -> None:
    """Move the tokens by the drift for a time h, by the midpoint rule, in place."""
    tick(field, t)
    evaluate(field, dims, x, work.slope)
    _ahead(x, work.slope, 0.5 * h, work.point)
    retract(field, work.point)
    tick(field, t + 0.5 * h)
    evaluate(field, dims, work.point, work.slope)
    _ahead(x, work.slope, h, x)
    retract(field, x)


@register_jitable
def _whole(
    field: Field, dims: Dims, x: Array, t: float, h: float, cells: int, work: SplittingWork
) -> None:
    """Take a step of length h with this number of cells, in place."""
    d, half = field.own_value.shape[0], cells // 2
    scatter(work.noise, x, d, Span(t, 0.5 * h, half, 0, half, 0.0))
    _drift(field, dims, x, t, h, work)
    scatter(work.noise, x, d, Span(t + 0.5 * h, 0.5 * h, half, 0, half, 0.0))


@njit()
def cells_of(h: float, d: int, noise: BrownianNoise, tol: float) -> int:
    """The number of cells of a step."""
    count, needed = FEWEST, 0.5 * (d - 1) * (h * noise.scale * noise.scale / tol) ** 2
    while count < needed and count < CELLS:
        count *= 2
    return count


@njit()
def longest(d: int, noise: BrownianNoise, tol: float) -> float:
    """The longest step for which CELLS are enough."""
    square = noise.scale * noise.scale
    if square == 0.0:
        return noise.root
    return min(noise.root, tol / square * math.sqrt(2.0 * CELLS / (d - 1)))


@register_jitable
def _aside(
    field: Field, dims: Dims, x: Array, until: float, work: SplittingWork, goal: Goal
) -> None:
    """Take a side step to a time before the end of the step on the clock, in place."""
    t, h, d = work.clock[TIME], work.clock[STEP], field.own_value.shape[0]
    cells = cells_of(h, d, work.noise, goal.tol)
    reached = (until - t) / h * cells
    last = min(cells - 1, int(reached))
    part = min(1.0, reached - last)
    scatter(work.noise, x, d, Span(t, h, cells, 0, last // 2, 0.0))
    _drift(field, dims, x, t, until - t, work)
    scatter(work.noise, x, d, Span(t, h, cells, last // 2, last, part))


@register_jitable
def _find(field: Field, dims: Dims, x: Array, work: SplittingWork, goal: Goal) -> float:
    """Set `fine` to the end of a step whose error, relative to tol, is returned; -1 if none is."""
    clock, d, t = work.clock, field.own_value.shape[0], work.clock[TIME]
    h, known = clock[STEP], False
    cells = cells_of(h, d, work.noise, goal.tol)
    while h >= SHORTEST * work.noise.root and t + h / CELLS > t:
        if goal.fixed:
            copy(x, work.fine)
            _whole(field, dims, work.fine, t, h, cells, work)
            return 1.0
        if not known:
            copy(x, work.coarse)
            _whole(field, dims, work.coarse, t, h, cells, work)
        copy(x, work.middle)
        _whole(field, dims, work.middle, t, 0.5 * h, cells // 2, work)
        copy(work.middle, work.fine)
        _whole(field, dims, work.fine, t + 0.5 * h, 0.5 * h, cells // 2, work)
        _ahead(work.fine, work.coarse, -1.0, work.point)
        error = largest(work.point) / goal.tol
        if error <= 1.0:
            return error
        clock[REJECTED] += 1
        h *= 0.5
        clock[STEP] = h
        # The first half is the whole step now, with the same cells if they can be halved again.
        known = cells > FEWEST
        cells = max(FEWEST, cells // 2)
        copy(work.middle, work.coarse)
    return -1.0


@njit()
def advance(
    field: Field, dims: Dims, x: Array, work: SplittingWork, goal: Goal, steps: Steps
) -> int:
    """Take steps from `x`, which is updated, until t_end or until `steps` is full.

    The return value says how many were taken, or -1 if the step size collapsed. As Python runs
    this function, velocities and noise are shared out to all cores, with the same bits.
    """
    clock, d, count = work.clock, field.own_value.shape[0], 0
    while count < steps.times.size and clock[TIME] < goal.t_end:
        if work.state[_READY] == 0.0:
            error = _find(field, dims, x, work, goal)
            if error < 0.0:
                return -1
            work.state[_READY] = 1.0 + error
        t, h = clock[TIME], clock[STEP]
        wanted = work.wanted[int(work.state[_NEXT])]
        if wanted < t + h:
            copy(x, work.coarse)
            _aside(field, dims, work.coarse, wanted, work, goal)
            copy(work.coarse, steps.tokens[count])
            if wanted >= goal.t_end:
                copy(work.coarse, x)
                clock[TIME] = goal.t_end
        else:
            copy(work.fine, x)
            copy(x, steps.tokens[count])
            clock[TIME] = t + h
            twice = 2.0 * h
            small = work.state[_READY] < 1.0 + GROW and twice <= longest(d, work.noise, goal.tol)
            if small and not goal.fixed and math.floor((t + h) / twice) * twice == t + h:
                clock[STEP] = twice
            work.state[_READY] = 0.0
        steps.times[count] = min(wanted, t + h)
        if wanted <= t + h and wanted < goal.t_end:
            work.state[_NEXT] += 1.0
        count += 1
    return count


@njit()
def interpolate(theta: float, start: Array, end: Array, dense: Array, out: Array) -> None:
    """Tokens at a fraction `theta` of a step, along geodesics."""
    for k in range(out.shape[0]):
        square = 0.0
        for c in range(out.shape[1]):
            square += (end[k, c] - start[k, c]) ** 2
        angle = 2.0 * math.asin(min(1.0, 0.5 * math.sqrt(square)))
        size = math.sin(angle)
        before, after = 1.0 - theta, theta
        if 1e-8 < angle < math.pi - 1e-8:
            before, after = math.sin(before * angle) / size, math.sin(after * angle) / size
        square = 0.0
        for c in range(out.shape[1]):
            out[k, c] = before * start[k, c] + after * end[k, c]
            square += out[k, c] ** 2
        for c in range(out.shape[1]):  # opposite points have no geodesic between them
            out[k, c] = out[k, c] / math.sqrt(square) if square > 1e-12 else start[k, c]


SPLITTING = Integrator(
    name="splitting",
    order=1,
    stages=6,  # a step, and two of half the length
    dense=0,
    workspace=workspace,
    advance=advance,
    advance_on_all_cores=interpreted(advance),
    interpolate=interpolate,
)
