"""How far the tokens of a run move between saved times."""

from __future__ import annotations

import numpy as np

from parkade.base.chunks import chunks
from parkade.base.types import Array
from parkade.model.sphere import distance
from parkade.runs.path import Path


def way(run: Path) -> Array:
    """The largest move of any token in each step, added up until each saved time, (T,)."""
    # If the frame rotates, a step may include many turns, which its ends do not show.
    turned = np.linalg.norm(run.spin, 2) * np.diff(run.times)
    return np.concatenate([[0.0], np.cumsum(_longest_moves(run.tokens) + turned)])


def _longest_moves(tokens: Array) -> Array:
    """The largest move of any token in each of the T−1 steps."""
    result = np.empty(len(tokens) - 1)
    for piece in chunks(len(result), tokens[0].size):
        result[piece] = distance(tokens[1:][piece], tokens[:-1][piece]).max(axis=1)
    return result
