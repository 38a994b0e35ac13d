"""The clusters of a scene, for everything on the page that counts, names or colours them.

A token leads a cluster until it arrives at an earlier one: the definition of `merge_tree`, by which
a follower that lags behind its leader in a merge is no cluster of its own. The others belong to the
nearest leader before them. With noise tokens part again, and between the layers of trained models
they jump, so there is no such tree: then tokens linked at this moment are a cluster, as in
`cluster_labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.clusters import default_radius, linked, merge_tree
from parkade.base.types import Array
from parkade.explorer.scenes.text import CLOSE
from parkade.runs.path import Path
from parkade.theory.merge_tree import MergeTree

HALVINGS = 8
"""Bisections of the step in which clusters merge: the time is exact to a pixel."""


class Groups(NamedTuple):
    """The clusters in each frame."""

    radius: float
    """The angle within which tokens have met."""
    tree: MergeTree | None
    """Which clusters merge; None where clusters part again."""
    labels: NDArray[np.int64]
    """The leader of each token in each frame, (F, n)."""
    counts: NDArray[np.int64]
    """The number of clusters in each frame, (F,)."""


def groups(run: Path, shown: Path, layers: bool, checkpoint: Callable[[], None]) -> Groups:
    """The clusters of a run in the frames `shown`; `checkpoint` is called after each of them.

    Times that are layers of a trained model have clusters of their own kind.
    """
    model = run.model
    radius = CLOSE if layers else default_radius(model)
    parts = layers or (model is not None and model.noise is not None)
    tree = None if parts else merge_tree(run, radius, halvings=HALVINGS)
    checkpoint()
    labels = np.empty(shown.tokens.shape[:2], dtype=np.int64)
    for i, x in enumerate(shown.tokens):
        labels[i] = linked(x, radius) if tree is None else _followers(x, tree, shown.times[i])
        checkpoint()
    counts = np.array([len(np.unique(row)) for row in labels])
    return Groups(radius, tree, labels, counts)


def _followers(x: Array, tree: MergeTree, t: float) -> NDArray[np.int64]:
    """The leader of each token at time t: itself, or the nearest one before it."""
    leads = tree.arrivals > t
    leaders, others = np.flatnonzero(leads), np.flatnonzero(~leads)
    labels = np.arange(len(x))
    near = x[others] @ x[leaders].T
    near[leaders[None, :] > others[:, None]] = -2.0
    labels[others] = leaders[near.argmax(axis=1)]
    return labels
