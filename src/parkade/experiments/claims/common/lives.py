"""Whole lives of clusters, and the late merges in them: what the law of merges is tested on.

The law is our own. A cluster moves as its *leader* moves, its earliest token, which feels only
earlier tokens. If m of them sit together at the distance φ and nothing else pulls, the leader
reaches them after the time T(φ, m) of `theory.log_meeting_time`. For full attention, which has
no leaders, Bruno and others (arXiv 2509.25040) show that as β → ∞ only the closest pair moves,
on the time scale e^{β(1−⟨x_i, x_j⟩)}.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.merging import merge_tree
from parkade.base.types import Array
from parkade.experiments.experiment import Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.runs.trajectory import Trajectory
from parkade.solve.simulate import simulate_many
from parkade.theory.meeting import cluster_radius, log_integrals
from parkade.theory.merge_tree import Merge, MergeTree

SINCE = 100.0
"""Only merges after this time count. Before it clusters form, and their members are apart."""

END = 1e60

TOL = 1e-5
"""Merge times are within 3e-4 of those with 1e-7, and it takes a third of the time."""

CANCELLING = 0.3
"""Pulls nearly cancel if their sum is less than this share of the sum of their sizes."""

_TOGETHER = 4  # runs held in memory at once


@dataclass(frozen=True)
class LifeSeries:
    """Uniform starts of n tokens in d dimensions, with this β."""

    d: int
    beta: float
    n: int
    few: int
    """Number of starts with a quick setup."""
    many: int
    """Number of starts otherwise."""

    @property
    def label(self) -> str:
        """As it is written in figures."""
        return f"{'circle' if self.d == 2 else 'S²'}, β = {self.beta:g}"


def looks(series: Sequence[LifeSeries]) -> list[tuple[str, str]]:
    """A colour and a marker for each series: colours by β, circles for the circle."""
    from parkade.plots import style

    colors = (style.GREEN, style.BLUE, style.VERMILLION)
    betas = sorted({s.beta for s in series})
    return [(colors[betas.index(s.beta) % 3], "o" if s.d == 2 else "^") for s in series]


def chosen(series: Sequence[LifeSeries], setup: Setup) -> list[tuple[LifeSeries, Setup]]:
    """The series that have starts with this setup, each with its part of the setup."""
    some = [s for s in series if setup.choose(s.few, s.many)]
    return [(s, setup.part(i, len(some))) for i, s in enumerate(some)]


def simulate(
    series: LifeSeries, setup: Setup, stream: int
) -> Iterator[tuple[Trajectory, MergeTree]]:
    """Simulate the starts of a series to t = 1e60, and find who merges when.

    Each claim has a `stream` of its own, so that no two are tested on the same starts.
    """
    model = Attention(d=series.d, beta=series.beta)
    starts = setup.choose(series.few, series.many)
    for first in range(0, starts, _TOGETHER):
        some = range(first, min(starts, first + _TOGETHER))
        keys = [(stream, series.d, int(series.beta), s) for s in some]
        tokens = [sphere.uniform(series.n, series.d, setup.generator(*key)) for key in keys]
        runs = simulate_many(model, tokens, END, times="steps", tol=TOL)
        for s, run in zip(some, runs, strict=True):
            yield run, merge_tree(run, halvings=15)
            setup.report((s + 1) / starts)


class Fate(NamedTuple):
    """A merge, and what the law of merges needs to know of it."""

    time: float
    leader: int
    """The earliest token of the cluster that joins another."""
    angle: float
    """Distance φ of the two leaders at the start."""
    mass: int
    """Number of tokens m that are with the partner when they merge, and come before the leader."""
    balance: float
    """The size of the sum of all pulls on the leader, over the sum of their sizes; small if they
    nearly cancel. Pulls are those of the clusters at half the time, with their leaders where they
    started: leaders hardly move until they merge."""
    share: float
    """The partner's share of the sum of the sizes: 1 if no other cluster pulls."""


def fates(start: Array, tree: MergeTree, beta: float) -> list[Fate]:
    """The late merges of a run that started at `start`, (n, d)."""
    return [_fate(start, tree, event, beta) for event in late(tree)]


def late(tree: MergeTree) -> list[Merge]:
    """The merges after `SINCE`."""
    return [event for event in tree.events if event.time > SINCE]


def _fate(start: Array, tree: MergeTree, event: Merge, beta: float) -> Fate:
    s = event.absorbed
    with_whom = tree.labels(event.time / 2)[:s]
    places = start[with_whom]
    cosine = places @ start[s]
    pulls = np.exp(beta * (cosine - cosine.max()))[:, None] * sphere.project(start[s], places)
    sizes = np.linalg.norm(pulls, axis=1)
    total = max(float(sizes.sum()), np.finfo(float).tiny)
    return Fate(
        time=event.time,
        leader=s,
        angle=float(sphere.distance(start[s], start[event.into])),
        mass=int(np.sum(tree.labels(event.time)[:s] == event.into)),
        balance=float(np.linalg.norm(pulls.sum(axis=0))) / total,
        share=float(sizes[with_whom == event.into].sum()) / total,
    )


class FateArrays(NamedTuple):
    """Many merges, as arrays: see `Fate`."""

    time: Array
    leader: Array
    angle: Array
    mass: Array
    balance: Array
    share: Array


def columns(merges: Sequence[Fate]) -> FateArrays:
    """The merges as arrays."""
    return FateArrays(*np.array(merges, dtype=np.float64).reshape(-1, len(Fate._fields)).T)


def anatomy(some: NDArray[np.bool_], **reasons: NDArray[np.bool_]) -> dict[str, int]:
    """Number of some merges, and of those among them with each possible reason for an error."""
    neither = ~np.any(list(reasons.values()), axis=0)
    counts = {name: int(np.sum(some & reason)) for name, reason in reasons.items()}
    return {"merges": int(some.sum()), **counts, "neither": int(np.sum(some & neither))}


def log_times(angle: Array, mass: Array, beta: float) -> Array:
    """The logarithm of T(φ, m), as `theory.log_meeting_time`, for an array of masses."""
    slow, fast = log_integrals(angle, beta, cluster_radius(beta))
    times: Array = np.logaddexp(slow - np.log(mass), fast)
    return times
