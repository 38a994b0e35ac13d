"""The forecast of a scene: the merges expected from the start, where that is quick to compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.analysis.agreement import agreement, forecast_of
from parkade.base.errors import InputError, doubts_do_not_matter
from parkade.base.types import Array
from parkade.runs.path import Path
from parkade.theory.merge_tree import MergeTree
from parkade.theory.parking import renyi_centers

SINCE = 100.0
"""Merges before this time are not compared: clusters still form."""

LEAST = 10 * SINCE
"""Runs that end earlier have none: it takes as long as they do, and there is little to compare."""

MOST_TOKENS = 2000
"""Runs of more tokens have no forecast."""

MOST_WORK = 400_000
"""A forecast takes leaders² × dimensions at most: about half a second."""


def forecast(run: Path, tree: MergeTree) -> dict[str, Any] | None:
    """What was forecast of a run with this merge tree; None if there is none to show."""
    start = run.tokens[0]
    if run.model is None or tree.end < LEAST or len(start) > MOST_TOKENS:
        return None
    if not _quick(start, tree.radius):
        return None
    try:
        with doubts_do_not_matter():  # it is shown beside what was seen
            expected = forecast_of(run)
    except InputError:
        return None
    comparison = agreement(expected, tree, SINCE)
    return {
        "merges": [
            {"t": e.time, "absorbed": e.absorbed, "into": e.into}
            for e in expected.events
            if e.time <= tree.end
        ],
        "since": SINCE,
        "seen": len(comparison.right),
        "right": int(np.sum(comparison.right)),
    }


def _quick(start: Array, radius: float) -> bool:
    """Whether few enough tokens lead at the start: each follows all that are before it."""
    leaders = len(renyi_centers(start, radius))
    work: int = leaders**2 * (start.shape[1] - 1)
    return work <= MOST_WORK
