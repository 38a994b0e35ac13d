"""The times of the frames of a scene, which `parkade.explorer.scenes.frames` finds with NumPy."""

from __future__ import annotations

import math

import numpy as np
from scenes.ending import distance
from scenes.run import SceneRun, turn

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.explorer.scenes.frames import (
    EVEN_FRAMES,
    FIRST_TIME,
    LEAST_FRAMES,
    MOST_FRAMES,
    MOST_NUMBERS,
    MOST_PAIRS,
    MOST_PIECES,
    PER_DECADE,
    STEP_ANGLE,
)

_LOW, _HIGH = EVEN_FRAMES


@njit(allocates=True)
def way(run: SceneRun, out: Array) -> None:
    """Set `out` to the distance that the fastest token has moved by each time."""
    before, after = run.tokens[0].copy(), run.tokens[0].copy()
    out[0] = 0.0
    for i in range(1, run.times.size):
        for k in range(after.shape[0]):
            for c in range(after.shape[1]):
                after[k, c] = run.tokens[i, k, c]
        turn(run, run.times[i], after)
        longest = 0.0
        for k in range(after.shape[0]):
            longest = max(longest, distance(before[k], after[k]))
        turned = abs(run.rate) * (run.times[i] - run.times[i - 1])
        out[i] = out[i - 1] + (longest + turned)
        before, after = after, before


@njit()
def interpolated(x: float, places: Array, values: Array) -> float:
    """Interpolate linearly at one point, as `np.interp` does."""
    low, high = 0, places.size
    while low < high:  # find the first place beyond x
        middle = (low + high) // 2
        if places[middle] <= x:
            low = middle + 1
        else:
            high = middle
    j = max(0, low - 1)
    if j == places.size - 1 or places[j] >= x:
        return values[j]
    slope = (values[j + 1] - values[j]) / (places[j + 1] - places[j])
    return slope * (x - places[j]) + values[j]


@njit()
def _even(end: float, most: int, out: Array) -> int:
    """Set `out` to time 0, and times with equal ratios up to `end`; return their number."""
    first = min(FIRST_TIME, end / 100)
    low, high = min(_LOW, most - 1), min(_HIGH, most - 1)
    count = int(min(max(PER_DECADE * math.log10(end / first), float(low)), float(high)))
    bottom, top = math.log10(first), math.log10(end)
    step = (top - bottom) / (count - 2)
    out[0] = 0.0
    for i in range(1, count):
        out[i] = 10.0 ** ((i - 1) * step + bottom)
    out[1], out[count - 1] = first, end
    return count


@njit()
def _pieces(move: float, step: float) -> int:
    return int(min(max(math.ceil(move / step), 1.0), float(MOST_PIECES)))


@njit()
def _insert(out: Array, count: int, t: float) -> int:
    """Insert a time among `count` ordered ones, unless it is there; return their number."""
    i = count
    while i > 0 and out[i - 1] > t:
        i -= 1
    if i > 0 and out[i - 1] == t:
        return count
    for j in range(count, i, -1):
        out[j] = out[j - 1]
    out[i] = t
    return count + 1


@njit(allocates=True)
def frame_times(run: SceneRun, out: Array) -> int:
    """Set `out`, with room for `MOST_FRAMES`, to the times of frames; return their number."""
    steps, n, d = run.tokens.shape
    room = min(MOST_NUMBERS / (n * d), MOST_PAIRS / float(n) ** 2 if d > 2 else float(MOST_FRAMES))
    most = int(min(max(room, float(LEAST_FRAMES)), float(MOST_FRAMES)))
    length = np.empty(steps)
    way(run, length)
    even = np.empty(most)
    count = _even(run.times[steps - 1], most, even)
    miles = np.empty(count)
    for i in range(count):
        miles[i] = interpolated(even[i], run.times, length)
    step = STEP_ANGLE
    while True:
        total = 0
        for i in range(count - 1):
            total += _pieces(miles[i + 1] - miles[i], step)
        if total < most:
            break
        step *= 1.2
    for i in range(count):
        out[i] = even[i]
    total = _insert(out, count, interpolated(0.0, length, run.times))
    for i in range(count - 1):
        pieces = _pieces(miles[i + 1] - miles[i], step)
        part = (miles[i + 1] - miles[i]) / pieces
        for j in range(1, pieces):
            total = _insert(out, total, interpolated(j * part + miles[i], length, run.times))
    return total
