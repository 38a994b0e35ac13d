"""The number of metastable clusters, counted on the plateau of an ensemble.

The number of clusters keeps falling, but more and more slowly: fast while tokens gather, then by
rare merges. The merges of a single run come at random times, so there is no natural moment at
which to count. The *plateau* is therefore defined by means over independent runs: of all windows
of one decade, t to 10t, it is the one over which the number falls by the smallest factor.
Clusters are counted in its middle.

β sets the scale of lengths but not of times: nearby tokens gather, and clusters c·β^{-1/2}
apart merge, after times that depend on c alone. So one plateau is found for all β together,
which gives less noise than one for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.clusters import cluster_labels, default_radius
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate_many

PER_DECADE = 12
TIMES: Array = np.geomspace(10.0, 1e4, 3 * PER_DECADE + 1)
"""Times at which clusters are counted; before t = 10 they are still forming."""

TOL = 1e-5
"""The clusters are the same as with 1e-6, and it takes half the time."""


def count(model: Attention, n: int, runs: int, rng: np.random.Generator) -> Array:
    """Numbers of clusters (runs, times), from uniform starts of n tokens."""
    starts = [sphere.uniform(n, model.d, rng) for _ in range(runs)]
    radius = default_radius(model)
    followed = simulate_many(model, starts, TIMES[-1], times=TIMES, tol=TOL)
    return np.array([cluster_counts(run.tokens, radius) for run in followed], dtype=np.float64)


def cluster_counts(states: Array, radius: float) -> NDArray[np.int64]:
    """The number of clusters in each of several states, (times, n, d)."""
    return np.array([len(np.unique(cluster_labels(tokens, radius))) for tokens in states])


class FlattestDecade(NamedTuple):
    """The decade of time over which the number of clusters falls least."""

    middle: int
    """Index of its middle in `TIMES`."""
    fall: float
    """The factor by which the number falls over the decade, in the geometric mean over β."""


def find(counts: Sequence[Array]) -> FlattestDecade:
    """The plateau of counts (runs, times), one array for each β."""
    level = np.mean([np.log(c.mean(axis=0)) for c in counts], axis=0)
    falls = level[:-PER_DECADE] - level[PER_DECADE:]
    start = int(np.argmin(falls))
    return FlattestDecade(start + PER_DECADE // 2, float(np.exp(falls[start])))
