"""Whether a forecast can be relied on, judged by the start alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from parkade.base.types import Array
from parkade.model.sphere import normalize
from parkade.theory.merge_tree import Merge, MergeTree

_SKEWED = 0.25  # the distance of KᵀQ from a multiple of I that matters, as a share of its norm
_MOVED = 0.001  # how far tokens are moved, in units of the range of attention
_STARTS = 2  # number of starts with moved tokens
_SINCE = 100.0  # in units of 1/λ; earlier merges do not count: clusters are still forming
_FACTOR = math.e  # times that differ by more count as different


def doubts(
    tokens: Array,
    query: Array,
    rate: float,
    tree: MergeTree,
    forecast_from: Callable[[Array], MergeTree],
) -> tuple[str, ...]:
    """Reasons why a forecast from these tokens may be wrong, as sentences; usually none.

    docs/life.md states how often forecasts with and without doubts were right. `query` is βKᵀQ,
    and `rate` the leading eigenvalue of V. `forecast_from` makes the forecast from other tokens.
    """
    reasons = []
    norm = float(np.linalg.norm(query, 2))
    mean = float(np.trace(query)) / len(query)
    off = float(np.linalg.norm(query - mean * np.eye(len(query)), 2))
    if off > _SKEWED * norm:
        reasons.append(
            f"KᵀQ differs from a multiple of I by {off / norm:.2g} of its norm: tokens may leave "
            "their leaders, and with random Q and K a third of the partners were wrong"
        )
    changed = set()
    for seed in range(_STARTS):
        noise = np.random.default_rng(seed).standard_normal(tokens.shape)
        other = forecast_from(normalize(tokens + _MOVED / math.sqrt(max(1.0, norm)) * noise))
        changed |= _changes(tree, other, _SINCE / rate)
    if changed:
        merges = "merge depends" if len(changed) == 1 else "merges depend"
        reasons.append(
            f"{len(changed)} late {merges} on small errors, since pulls nearly cancel, as between "
            "equally spaced tokens: the partner may be another, and ln t may be off by 5 or more"
        )
    return tuple(reasons)


def _changes(tree: MergeTree, other: MergeTree, since: float) -> set[int]:
    """Tokens with a late merge that has another partner or time, or is missing, in one tree."""
    ours, theirs = ({e.absorbed: e for e in one.events} for one in (tree, other))
    never = Merge(math.inf, -1, -1, 1)
    changed = set()
    for token in ours.keys() | theirs.keys():
        one, two = ours.get(token, never), theirs.get(token, never)
        early, late = sorted((one.time, two.time))
        if late > since and (one.into != two.into or late > _FACTOR * early):
            changed.add(token)
    return changed
