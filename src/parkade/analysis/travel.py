"""How far the tokens of a run move between saved times."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.model.sphere import distance
from parkade.runs.path import Path

_CHUNK = 2**22  # numbers held in memory at once


def way(run: Path) -> Array:
    """The largest move of any token in each step, summed up to each saved time, (T,)."""
    # In a rotating frame a step may include many turns, which its ends do not show.
    turned = np.linalg.norm(run.spin, 2) * np.diff(run.times)
    return np.concatenate([[0.0], np.cumsum(_longest_moves(run.tokens) + turned)])


def _longest_moves(tokens: Array) -> Array:
    """The largest move of any token in each step, (T-1,)."""
    steps = len(tokens) - 1
    result = np.empty(steps)
    some = max(1, _CHUNK // tokens[0].size)
    for i in range(0, steps, some):
        piece = tokens[i : i + some + 1]
        result[i : i + some] = distance(piece[1:], piece[:-1]).max(axis=1)
    return result
