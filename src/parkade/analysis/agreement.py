"""The forecast of a run, and how well it agrees with the observed merges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.runs.path import Path, need_path
from parkade.theory.forecast import forecast as forecast_tree
from parkade.theory.merge_tree import MergeTree


@dataclass(frozen=True, eq=False)
class Agreement:
    """The observed merges of a run, each compared with the forecast.

    Attributes
    ----------
    times : (m,) array
        The times of the observed merges.
    right : (m,) bool array
        Whether the forecast is that the cluster joins this partner.
    log_ratio : (m,) array
        ln(forecast time / observed time); infinite if no merge of the cluster was forecast, or one
        at the start.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> times, right = np.array([1e3, 1e9]), np.array([True, False])
    >>> result = pk.clusters.Agreement(times, right, log_ratio=np.array([0.1, 2.0]))
    >>> result.errors.tolist(), round(result.error, 2)
    ([0.1], 0.1)
    """

    times: Array
    right: NDArray[np.bool_]
    log_ratio: Array

    @property
    def errors(self) -> Array:
        """`log_ratio` of the merges with the right partner."""
        errors: Array = self.log_ratio[self.right & np.isfinite(self.log_ratio)]
        return errors

    @property
    def error(self) -> float:
        """The root mean square of `errors`; NaN if there are none."""
        return float(np.sqrt(np.mean(self.errors**2))) if self.errors.size else math.nan


def forecast_of(run: Path, radius: float | None = None) -> MergeTree:
    """Forecast the merges of a run from its start and its model alone.

    Parameters
    ----------
    run : Path
        A run that begins at t = 0, of a model that `theory.forecast` takes.
    radius : float, optional
        The radius of the merge tree to compare with; `default_radius` by default.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(50, 2, seed=2)
    >>> run = pk.simulate(pk.Attention(2, beta=16.0), x0, 1e20)
    >>> result = pk.clusters.agreement(pk.clusters.forecast_of(run), run.merge_tree())
    >>> result.right.tolist(), result.error < 0.1
    ([True, True], True)
    """
    need_path(run, "forecast_of")
    if run.model is None:
        raise InputError("a forecast needs a model, got a path without one; use theory.forecast")
    if run.times[0] != 0:
        raise InputError(
            f"a forecast needs the start of a run, got one from t={run.times[0]:g} on; keep t=0 "
            "in its times"
        )
    if len(run.frozen):
        raise InputError(
            f"a forecast is for free tokens only, got a run with {len(run.frozen)} frozen; "
            "simulate without them"
        )
    return forecast_tree(run.tokens[0], run.model, radius=radius)


def agreement(forecast: MergeTree, seen: MergeTree, since: float = 100.0) -> Agreement:
    """Compare the merges of the tree `seen` after the time `since` with a forecast.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(50, 2, seed=2)
    >>> run = pk.simulate(pk.Attention(2, beta=16.0), x0, 1e20)
    >>> result = pk.clusters.agreement(pk.theory.forecast(x0, 16.0), run.merge_tree())
    >>> result.right.tolist(), result.error < 0.1
    ([True, True], True)
    """
    predicted = {event.absorbed: event for event in forecast.events}
    late = [event for event in seen.events if event.time > since]
    pairs = [(event, predicted.get(event.absorbed)) for event in late]
    return Agreement(
        np.array([event.time for event in late]),
        np.array([p is not None and p.into == e.into for e, p in pairs], dtype=bool),
        np.array([math.log(p.time / e.time) if p and p.time > 0 else math.inf for e, p in pairs]),
    )
