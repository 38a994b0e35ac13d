"""What an ensemble measures of each run: the registry `MEASURES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.analysis import clusters
from parkade.analysis.centers import KINDS
from parkade.base.errors import InputError, doubts_do_not_matter
from parkade.base.types import Array
from parkade.model.sphere import distance
from parkade.runs.trajectory import Trajectory
from parkade.sweeps.grid import CLUSTERS, SEPARATIONS
from parkade.theory.merge_tree import MergeTree

PLATEAUS = ("first", "longest")


class Variable(NamedTuple):
    """An array that a measure computes for each run."""

    dims: tuple[str, ...]
    dtype: str
    about: str


TRUST = Variable((), "f8", "time until which a run can be trusted")
"""The variable that is always measured."""


@dataclass(frozen=True)
class Sample:
    """The input of a measure."""

    run: Trajectory
    times: Array
    deltas: tuple[float, ...]
    radius: float
    """The radius within which centres consume tokens."""
    cluster_radii: tuple[float, ...]

    @cached_property
    def tokens(self) -> Array:
        """Tokens at the times of the ensemble, (T, n, d)."""
        return self.run.at(self.times)

    @cached_property
    def trees(self) -> list[MergeTree]:
        """The merge tree of the run for each radius of clusters."""
        return [clusters.merge_tree(self.run, radius) for radius in self.cluster_radii]

    @cached_property
    def centers(self) -> list[list[NDArray[np.int64]]]:
        """Indices of the centres of the start, for each δ and each kind."""
        start = self.run.at(0.0)
        return [[find(start, delta) for find in KINDS.values()] for delta in self.deltas]


@dataclass(frozen=True)
class Measure:
    """A function that measures some variables of a run."""

    about: str
    variables: Mapping[str, Variable]
    function: Callable[[Sample], dict[str, ArrayLike]]
    dense: bool = False
    """Whether it needs every step of the run."""
    observes: tuple[str, ...] = ()
    """Parameters of the measure; the values of the one in the grid are the leading axis."""


def _stacked(measured: list[dict[str, ArrayLike]]) -> dict[str, ArrayLike]:
    """Stack the results for each value of a parameter along a new leading axis."""
    return {name: np.stack([np.asarray(one[name]) for one in measured]) for name in measured[0]}


def _clusters(sample: Sample) -> dict[str, ArrayLike]:
    return _stacked([_linked(sample.tokens, radius) for radius in sample.cluster_radii])


def _linked(tokens: Array, radius: float) -> dict[str, ArrayLike]:
    labels = clusters.linked(tokens, radius)
    times, n = labels.shape
    owners = labels + n * np.arange(times)[:, None]
    sizes = np.bincount(owners.ravel(), minlength=times * n).reshape(times, n)
    return {"clusters": np.count_nonzero(sizes, axis=1), "largest": sizes.max(axis=1) / n}


def _merges(sample: Sample) -> dict[str, ArrayLike]:
    return _stacked([_life(tree) for tree in sample.trees])


def _life(tree: MergeTree) -> dict[str, ArrayLike]:
    chosen: list[Any] = [None, None]
    if tree.plateaus:
        chosen = [tree.plateaus[0], max(tree.plateaus, key=lambda p: p.lifetime)]
    return {
        "arrival": tree.arrivals,
        "plateau_clusters": [p.clusters if p else np.nan for p in chosen],
        "plateau_start": [p.start if p else np.nan for p in chosen],
        "plateau_end": [p.end if p else np.nan for p in chosen],
    }


def _forecast(sample: Sample) -> dict[str, ArrayLike]:
    try:
        with doubts_do_not_matter():  # this measures how often forecasts are right
            trees = [clusters.forecast_of(sample.run, radius) for radius in sample.cluster_radii]
    except InputError:
        return {}  # everything is NaN: among random V, some have no forecast
    return _stacked([_compared(*pair) for pair in zip(trees, sample.trees, strict=True)])


def _compared(forecast: MergeTree, tree: MergeTree) -> dict[str, ArrayLike]:
    agreement = clusters.agreement(forecast, tree)
    return {
        "forecast_arrival": forecast.arrivals,
        "forecast_right": agreement.right.mean() if agreement.right.size else np.nan,
        "forecast_error": agreement.error,
    }


def _consumption(sample: Sample) -> dict[str, ArrayLike]:
    from parkade.engine.search import neighbours

    def share(who: NDArray[np.int64]) -> Array:  # like `clusters.consumption`, for known tokens
        counts = neighbours.count_near(sample.tokens, who, sample.radius)
        shares: Array = counts / sample.tokens.shape[1]
        return shares

    return {"consumed": [[share(who) for who in kinds] for kinds in sample.centers]}


def _centers(sample: Sample) -> dict[str, ArrayLike]:
    start = sample.run.at(0.0)

    def moved(who: NDArray[np.int64]) -> Array:
        angle: Array = distance(sample.tokens[:, who], start[who]).mean(axis=1)
        return angle

    return {
        "centers": [[len(who) for who in kinds] for kinds in sample.centers],
        "displacement": [[moved(who) for who in kinds] for kinds in sample.centers],
    }


def _lengths(sample: Sample) -> dict[str, ArrayLike]:
    if sample.run.radii is None:
        return {}  # NaN: only some normalisations have them
    return {"radii": sample.run.radii_at(sample.times)}


MEASURES: dict[str, Measure] = {
    "clusters": Measure(
        "clusters of linked tokens and the share of the largest, at the times",
        {
            "clusters": Variable(("time",), "i8", "number of clusters, by links"),
            "largest": Variable(("time",), "f8", "share of the tokens in the largest cluster"),
        },
        _clusters,
        observes=CLUSTERS,
    ),
    "merges": Measure(
        "arrival times of tokens, and the first and the longest plateau",
        {
            "arrival": Variable(("token",), "f8", "time of arrival at an earlier token"),
            "plateau_clusters": Variable(
                ("plateau",), "f8", "number of clusters on a plateau, by leaders"
            ),
            "plateau_start": Variable(("plateau",), "f8", "start of a plateau"),
            "plateau_end": Variable(("plateau",), "f8", "end of a plateau, or of the run"),
        },
        _merges,
        dense=True,
        observes=CLUSTERS,
    ),
    "forecast": Measure(
        "merges forecast from the start, and how many of those after t = 100 were as forecast",
        {
            "forecast_arrival": Variable(("token",), "f8", "forecast time of arrival"),
            "forecast_right": Variable((), "f8", "share of merges whose partner was forecast"),
            "forecast_error": Variable((), "f8", "rms of ln(forecast time / time seen)"),
        },
        _forecast,
        dense=True,
        observes=CLUSTERS,
    ),
    "consumption": Measure(
        "the share of tokens near a Rényi or a strong centre, at the times",
        {"consumed": Variable(("kind", "time"), "f8", "share of the tokens consumed")},
        _consumption,
        observes=SEPARATIONS,
    ),
    "centers": Measure(
        "the number of Rényi and strong centres, and how far they move",
        {
            "centers": Variable(("kind",), "i8", "number of centres of the start"),
            "displacement": Variable(
                ("kind", "time"), "f8", "mean angle of centres to their start"
            ),
        },
        _centers,
        observes=SEPARATIONS,
    ),
    "final": Measure(
        "the tokens at t_end",
        {"final": Variable(("token", "axis"), "f8", "tokens at t_end")},
        lambda sample: {"final": sample.run.final},
    ),
    "trajectory": Measure(
        "the tokens at the times",
        {"tokens": Variable(("time", "token", "axis"), "f8", "tokens")},
        lambda sample: {"tokens": sample.tokens},
    ),
    "lengths": Measure(
        "the lengths of tokens at the times, if the normalisation has them",
        {"radii": Variable(("time", "token"), "f8", "lengths of tokens")},
        _lengths,
    ),
}
