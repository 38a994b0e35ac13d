"""The shape of a set of tokens: how near to L, how distinct, how evenly on both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parkade.claims.claim import Verdict
from parkade.claims.statistics import mean, unlikely
from parkade.clusters import cluster_labels
from parkade.types import Array

APART = 1e-3
"""Tokens farther than this from all others are points of their own."""

UNIFORM = {2: math.pi / 2 - 1, 1: 1.0}
"""Mean angle of uniform tokens on S² from a plane and from a line, in radians."""


def distinct_share(tokens: Array) -> float:
    """The share of tokens that are points of their own."""
    return len(np.unique(cluster_labels(tokens, APART))) / len(tokens)


def smaller_side(tokens: Array, basis: Array) -> float:
    """The share of tokens on the side of L^⊥ that has fewer, for a line L."""
    share = float((tokens @ basis[:, 0] > 0).mean())
    return min(share, 1 - share)


def less(sample: Sequence[float], expected: float) -> Verdict:
    """Whether the mean of independent numbers is less than expected, at a fifth of the level."""
    from scipy.stats import t

    m = mean(sample)
    probability = float(t.sf(m.sigmas(expected), len(sample) - 1))
    return unlikely(5 * probability, m.value < expected)
