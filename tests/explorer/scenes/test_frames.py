"""The times of frames: close where tokens move fast, and not too many."""

from __future__ import annotations

import numpy as np
from support.explorer import frames

from parkade.explorer import scene


def test_nothing_jumps():
    """Between two frames tokens go a short way, also when clusters merge after 10⁶."""
    data = scene({"n": 40, "d": 2, "beta": 25, "T": 1e9})
    moved = np.linalg.norm(np.diff(frames(data), axis=0), axis=2).max()
    assert moved < 0.15
    even = np.array(data["times"])
    even = np.searchsorted(even, np.geomspace(0.01, 1e9, 200)).clip(max=len(even) - 1)
    jumps = np.diff(frames(data)[even], axis=0)
    assert np.linalg.norm(jumps, axis=2).max() > 0.3  # they would with even steps


def test_what_never_rests_does_not_take_all_frames():
    data = scene({"n": 8, "V": "-1,-1,-2", "T": 1000})
    times = np.array(data["times"])
    assert len(times) <= 400
    assert ((times > 0) & (times < 1)).sum() >= 35
