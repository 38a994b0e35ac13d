"""What noise does to the end of Theorem 4.1: leaders wander, and clusters live for about κ.

The first token feels no force, so with noise it is a Brownian motion on the sphere, and nothing
ends at x_1(0). Leaders of other clusters feel forces of e^{−β(1−cos φ)} only, and wander as well.
Two of them on the circle have an angle with the variance 4t/κ, so they meet in a time of order κ,
however sharp attention is. Followers stay within about κ^{−1/2} of a leader.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.experiments.claims.common.plateau import cluster_counts
from parkade.experiments.experiment import Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

KAPPAS = (300.0, 1000.0)
"""Much more than β: with κ ≈ 3β followers do not stay with their leaders."""

TIME, EARLY = 4.0, 0.05
"""The end of runs, and when clusters are first counted, in units of κ."""

NEAR = 4.0
"""Radius of a cluster in units of κ^{−1/2}."""

CAPS = 0.03, TIME
"""Bounds of the median time until there is one cluster, in units of κ."""

SAVED, TOL = 150, 1e-2


class Wander(NamedTuple):
    """The fate of the clusters of a run with noise."""

    early: int
    """Number of clusters at the time κ/20."""
    left: int
    """Number of clusters at the end of the run."""
    one: float
    """The first time with a single cluster, in units of κ; infinite if never."""
    away: float
    """The angle between the first token and x_1(0) at the end."""


def wander(kappa: float, s: int, setup: Setup, n: int, beta: float) -> Wander:
    """A run on the circle from the start number s."""
    x = sphere.uniform(n, 2, setup.generator(1, s))
    times = kappa * np.concatenate([[EARLY], np.linspace(0.1, TIME, SAVED)])
    model = Attention(2, beta, noise=kappa)
    run = simulate(model, x, times[-1], times=times, tol=TOL, seed=setup.generator(7, s))
    counts = cluster_counts(run.tokens, NEAR * kappa**-0.5)
    single = np.flatnonzero(counts == 1)
    one = float(times[single[0]] / kappa) if len(single) else np.inf
    away = float(sphere.distance(run.final[:1], x[:1])[0])
    return Wander(int(counts[0]), int(counts[-1]), one, away)


def all_of(starts: int, setup: Setup, n: int, beta: float) -> dict[float, list[Wander]]:
    """Runs for every κ, from the same starts."""
    kappas = setup.choose(KAPPAS[:1], KAPPAS)  # time goes with κ
    return {kappa: [wander(kappa, s, setup, n, beta) for s in range(starts)] for kappa in kappas}


def medians(by_kappa: dict[float, list[Wander]]) -> list[float]:
    """The median time until there is one cluster for each κ, in units of κ."""
    return [_median([one.one for one in runs]) for runs in by_kappa.values()]


def is_lost(by_kappa: dict[float, list[Wander]]) -> bool:
    """Whether the end of the theorem is lost, and clusters live for a time of order κ."""
    away = [one.away for runs in by_kappa.values() for one in runs]
    return max(away) > 0.1 and all(CAPS[0] < m < CAPS[1] for m in medians(by_kappa))


def rows(by_kappa: dict[float, list[Wander]]) -> list[list[str]]:
    """Rows of the table of variants."""
    table = []
    for kappa, runs in by_kappa.items():
        early, left = (np.mean([one[i] for one in runs]) for i in range(2))
        last = kappa * _median([one.one for one in runs])
        name = f"noise κ={kappa:g}"
        table.append([name, f"0/{len(runs)}", f"{early:.1f}", f"{left:.1f}", f"{last:.1e}"])
    return table


def _median(values: list[float]) -> float:
    """The lower one, if there are two: values may be infinite."""
    return sorted(values)[(len(values) - 1) // 2]
