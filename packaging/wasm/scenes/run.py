"""A run in the memory of a page: its steps, and tokens at any time, as in `Trajectory`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.steps import explicit, implicit, splitting
from parkade.explorer.standalone.shared import METHODS

Indices = NDArray[np.int64]

_EXPLICIT, _IMPLICIT, _SPLITTING = map(METHODS.index, ("explicit", "implicit", "splitting"))
_explicit, _implicit, _splitting = (each.interpolate for each in (explicit, implicit, splitting))


class SceneRun(NamedTuple):
    """The steps of a run in the coordinates of the model, in a frame that turns with the tokens."""

    method: int
    times: Array  # (T,)
    tokens: Array  # (T, n, d)
    dense: Array  # (T-1, p, n, d)
    logs: Array  # (T, n): ln r, or (0, 0) if tokens have no lengths
    log_bends: Array  # (T-1, p, n), or (0, 0, 0)
    plane: Array  # (2, d): an orthonormal basis of the plane in which the frame turns
    rate: float  # its angular velocity; 0 for a frame at rest


class StepChunk(NamedTuple):
    """Some steps as an engine returns them: in a basis, and of free tokens only."""

    times: Array  # (m,)
    states: Array  # (m, free, d), or one column more: ln r
    dense: Array  # (m, p, free, d), or one column more
    basis: Array  # (d, d): columns are in the coordinates of the model
    free: Indices  # (free,): the indices of these tokens


@njit()
def plane_of(spin: Array, plane: Array) -> float:
    """Set `plane` to the plane in which `spin` rotates, d = 2 or 3; return the angular velocity."""
    d = spin.shape[0]
    for i in range(2):
        for c in range(d):
            plane[i, c] = 1.0 if i == c else 0.0
    if d == 2:
        return (spin[1, 0] - spin[0, 1]) / 2
    a = (spin[2, 1] - spin[1, 2]) / 2
    b = (spin[0, 2] - spin[2, 0]) / 2
    c = (spin[1, 0] - spin[0, 1]) / 2
    rate = math.sqrt(a * a + b * b + c * c)
    if rate == 0.0 or (a == 0.0 and b == 0.0):
        return c
    # The axis × the coordinate axis that is farthest from it, and the axis × this product.
    a, b, c = a / rate, b / rate, c / rate
    if abs(a) <= abs(b) and abs(a) <= abs(c):
        x, y, z = 0.0, c, -b
    elif abs(b) <= abs(c):
        x, y, z = -c, 0.0, a
    else:
        x, y, z = b, -a, 0.0
    size = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / size, y / size, z / size
    plane[0, 0], plane[0, 1], plane[0, 2] = x, y, z
    plane[1, 0], plane[1, 1], plane[1, 2] = b * z - c * y, c * x - a * z, a * y - b * x
    return rate


@njit()
def turn(run: SceneRun, t: float, x: Array) -> None:
    """Rotate tokens (n, d) in place, as the frame has rotated by time t."""
    if run.rate == 0.0:
        return
    angle = t * run.rate
    cosine, sine = math.cos(angle) - 1.0, math.sin(angle)
    d = x.shape[1]
    for k in range(x.shape[0]):
        first, second, before = 0.0, 0.0, 0.0
        for c in range(d):
            first += x[k, c] * run.plane[0, c]
            second += x[k, c] * run.plane[1, c]
            before += x[k, c] * x[k, c]
        along = cosine * first - sine * second
        across = cosine * second + sine * first
        after = 0.0
        for c in range(d):
            x[k, c] += along * run.plane[0, c] + across * run.plane[1, c]
            after += x[k, c] * x[k, c]
        scale = math.sqrt(before) / max(math.sqrt(after), 1e-300)
        for c in range(d):
            x[k, c] *= scale


@njit()
def _leave(vector: Array, basis: Array, out: Array) -> None:
    """Set `out` to the vector that has these components in a basis."""
    for c in range(out.size):
        total = 0.0
        for e in range(out.size):
            total += vector[e] * basis[c, e]
        out[c] = total


@njit()
def begin(run: SceneRun, start: Array) -> None:
    """Set tokens at all times to the start, scaled to unit length: frozen ones stay there."""
    run.times[0] = 0.0
    for k in range(start.shape[0]):
        square = 0.0
        for c in range(start.shape[1]):
            square += start[k, c] * start[k, c]
        for i in range(run.tokens.shape[0]):
            for c in range(start.shape[1]):
                run.tokens[i, k, c] = start[k, c] / math.sqrt(square)


@njit()
def take(run: SceneRun, steps: StepChunk, first: int) -> None:
    """Add steps, the first of which begins at the time with index `first`."""
    d = run.tokens.shape[2]
    for s in range(steps.times.size):
        i = first + s
        run.times[i + 1] = steps.times[s]
        for f in range(steps.free.size):
            k = steps.free[f]
            _leave(steps.states[s, f], steps.basis, run.tokens[i + 1, k])
            for p in range(run.dense.shape[1]):
                _leave(steps.dense[s, p, f], steps.basis, run.dense[i, p, k])
            if run.logs.size > 0:
                run.logs[i + 1, k] = steps.states[s, f, d]
                for p in range(run.dense.shape[1]):
                    run.log_bends[i, p, k] = steps.dense[s, p, f, d]


@njit()
def inside(run: SceneRun, i: int, t: float, count: int, out: Array) -> None:
    """Set `out` to the first `count` tokens at time t in step i, without rotating them."""
    theta = (t - run.times[i]) / (run.times[i + 1] - run.times[i])
    start, end = run.tokens[i][:count], run.tokens[i + 1][:count]
    dense, first = run.dense[i][:, :count], out[:count]
    if run.method == _EXPLICIT:
        _explicit(theta, start, end, dense, first)
    elif run.method == _IMPLICIT:
        _implicit(theta, start, end, dense, first)
    else:
        _splitting(theta, start, end, dense, first)


@njit()
def first_from(times: Array, t: float) -> int:
    """The index of the first time that is not before t."""
    low, high = 0, times.size
    while low < high:
        middle = (low + high) // 2
        if times[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low


@njit()
def at(run: SceneRun, t: float, out: Array) -> None:
    """Set `out` to the tokens at time t, without rotating them."""
    i = first_from(run.times, t)
    if run.times[i] != t:
        inside(run, i - 1, t, out.shape[0], out)
        return
    for k in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[k, c] = run.tokens[i, k, c]


@njit()
def logs_at(run: SceneRun, t: float, out: Array) -> None:
    """Set `out` to ln r of all tokens at time t."""
    i = first_from(run.times, t)
    for k in range(out.size):
        end = run.logs[i, k]
        out[k] = end
        if run.times[i] != t:
            start = run.logs[i - 1, k]
            theta = (t - run.times[i - 1]) / (run.times[i] - run.times[i - 1])
            bend = 0.0
            if run.method == _EXPLICIT:
                bend = run.log_bends[i - 1, 1, k] + (1 - theta) * run.log_bends[i - 1, 2, k]
                bend = run.log_bends[i - 1, 0, k] + theta * bend
            elif run.method == _IMPLICIT:
                bend = run.log_bends[i - 1, 0, k] + theta * run.log_bends[i - 1, 1, k]
            out[k] = start + theta * (end - start + (1 - theta) * bend)
