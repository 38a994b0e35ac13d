"""The times of the frames of a run: even in log time, and closer where tokens move fast."""

from __future__ import annotations

import math

import numpy as np

from parkade.analysis.travel import way
from parkade.base.types import Array
from parkade.runs.path import Path

MOST_FRAMES = 400
"""Most frames of a scene."""

LEAST_FRAMES = 40
"""A scene has room for at least this many frames, however many tokens there are."""

MOST_NUMBERS = 2**22
"""A scene has at most this many coordinates, unless the least number of frames has more."""

MOST_PAIRS = 4e8
"""Pairs of tokens that are compared in all frames, where clusters take all pairs."""

FIRST_TIME = 0.01
"""The first time after the start."""

PER_DECADE, EVEN_FRAMES = 20, (60, 200)
"""Frames in even steps of log time: of a decade, and the least and the most of a run."""

STEP_ANGLE = 0.04
"""Radians that the fastest token moves between two frames, if there are enough of them."""

MOST_PIECES = 12
"""Most frames in one even step: tokens that never rest would take them all."""


def frame_times(run: Path) -> Array:
    """The times of the frames, increasing; some of those stored if the run cannot interpolate."""
    n, d = run.tokens.shape[1:]
    room = min(MOST_NUMBERS / (n * d), MOST_PAIRS / n**2 if d > 2 else MOST_FRAMES)
    most = int(np.clip(room, LEAST_FRAMES, MOST_FRAMES))
    if run.dense is None:
        stored = np.unique(run.times)
        some = np.linspace(0, len(stored) - 1, min(most, len(stored)))
        picked: Array = stored[np.unique(some.round().astype(int))]
        return picked
    even = _even(float(run.times[-1]), most)
    length = way(run)
    mileage = np.interp(even, run.times, length)
    moves = np.diff(mileage)
    step = STEP_ANGLE
    while (pieces := np.clip(np.ceil(moves / step), 1, MOST_PIECES)).sum() >= most:
        step *= 1.2
    marks = [
        np.linspace(mileage[i], mileage[i + 1], int(pieces[i]) + 1)[1:-1]
        for i in np.flatnonzero(pieces > 1)
    ]
    hurried = np.interp(np.concatenate([[0.0], *marks]), length, run.times)
    return np.unique(np.concatenate([even, hurried]))


def _even(end: float, most: int) -> Array:
    """Time 0, then equal ratios to the end."""
    first = min(FIRST_TIME, end / 100)
    low, high = (min(bound, most - 1) for bound in EVEN_FRAMES)
    count = int(np.clip(PER_DECADE * math.log10(end / first), low, high))
    times = np.concatenate([[0.0], np.geomspace(first, end, count - 1)])
    times[-1] = end
    return times
