"""The times of the frames of a run: even in log time, and closer where tokens move fast."""

from __future__ import annotations

import math

import numpy as np

from parkade.analysis.travel import way
from parkade.base.types import Array
from parkade.runs.path import Path

MOST = 400
"""Most frames of a scene."""

_LEAST = 40  # frames, for any number of tokens
_NUMBERS = 2**22  # coordinates in a scene, unless the least number of frames has more
_PAIRS = 4e8  # pairs of tokens compared in all frames, where clusters take all pairs
_FIRST = 0.01  # the first time after the start
_PER_DECADE, _EVEN = 20, (60, 200)  # frames in even steps of log time
_STEP = 0.04  # radians that the fastest token moves between two frames, if there are enough
_PIECES = 12  # most frames in one even step: tokens that never rest would take them all


def frame_times(run: Path) -> Array:
    """The times of the frames, increasing; some of those kept if the run cannot interpolate."""
    n, d = run.tokens.shape[1:]
    room = min(_NUMBERS / (n * d), _PAIRS / n**2 if d > 2 else MOST)
    most = int(np.clip(room, _LEAST, MOST))
    if run.dense is None:
        kept = np.unique(run.times)
        some = np.linspace(0, len(kept) - 1, min(most, len(kept)))
        picked: Array = kept[np.unique(some.round().astype(int))]
        return picked
    even = _even(float(run.times[-1]), most)
    length = way(run)
    mileage = np.interp(even, run.times, length)
    moves = np.diff(mileage)
    step = _STEP
    while (pieces := np.clip(np.ceil(moves / step), 1, _PIECES)).sum() >= most:
        step *= 1.2
    marks = [
        np.linspace(mileage[i], mileage[i + 1], int(pieces[i]) + 1)[1:-1]
        for i in np.flatnonzero(pieces > 1)
    ]
    hurried = np.interp(np.concatenate([[0.0], *marks]), length, run.times)
    return np.unique(np.concatenate([even, hurried]))


def _even(end: float, most: int) -> Array:
    """Time 0, then equal ratios to the end."""
    first = min(_FIRST, end / 100)
    low, high = (min(bound, most - 1) for bound in _EVEN)
    count = int(np.clip(_PER_DECADE * math.log10(end / first), low, high))
    times = np.concatenate([[0.0], np.geomspace(first, end, count - 1)])
    times[-1] = end
    return times
