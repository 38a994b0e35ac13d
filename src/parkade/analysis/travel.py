"""How far the tokens of a run go between the times it kept."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.model.sphere import distance
from parkade.runs.path import Path

_CHUNK = 2**22  # numbers in memory at once


def way(run: Path) -> Array:
    """The sum, up to each time kept, of the longest ways any token went, (T,)."""
    # In a turning frame one step may hold many turns, which its two ends do not show.
    turned = np.linalg.norm(run.spin, 2) * np.diff(run.times)
    return np.concatenate([[0.0], np.cumsum(_longest_moves(run.tokens) + turned)])


def _longest_moves(tokens: Array) -> Array:
    """The longest way any token went in each step, (T-1,)."""
    steps = len(tokens) - 1
    result = np.empty(steps)
    some = max(1, _CHUNK // tokens[0].size)
    for i in range(0, steps, some):
        piece = tokens[i : i + some + 1]
        result[i : i + some] = distance(piece[1:], piece[:-1]).max(axis=1)
    return result
