"""When the last two clusters on the circle merge, and when the second token meets the first.

Derived: token 2 feels only token 1, which stands still, so it arrives after exactly T(φ, 1)
(`theory.log_meeting_time`), and its distance φ is uniform on (0, π). To leading order ln T/β has
the law of 1 − cos φ, an arcsine law on (0, 2).

The last merge is the latest of all leaders. No closed form is known; forecasts of independent
starts have the law that is tested.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parkade import theory
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import ensembles
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.statistics import LEVEL, worst
from parkade.theory.meeting import cluster_radius

_GRID: Array = np.linspace(1e-4, math.pi - 1e-4, 20001)


def measure(setup: Setup) -> Evidence:
    """Test both laws by Kolmogorov's and Smirnov's tests, for each β."""
    from scipy.stats import ks_2samp, kstest

    arrivals = ensembles.simulated(setup.part(0, 2))
    count = setup.choose(40, 200)
    level = LEVEL / (2 * len(ensembles.BETAS))
    verdicts: list[Judgement] = []
    rows: dict[str, dict[str, Any]] = {}
    samples, least = {}, 1.0
    for i, beta in enumerate(ensembles.BETAS):
        seen = np.log(ensembles.last(arrivals[beta])) / beta
        starts = ensembles.starts(setup, count, 20 + i)
        expected = np.log(ensembles.last(ensembles.forecast(beta, starts))) / beta
        second = arrivals[beta][:, 1]
        second = second[second > 0]  # tokens that start together have no time to measure
        share = _angle(np.log(second), beta) / math.pi
        uniform = float(kstest(_rescaled(share, beta), "uniform").pvalue)
        same = float(ks_2samp(seen, expected).pvalue)
        least = min(least, uniform, same)
        verdicts += [_judge(uniform, level), _judge(same, level)]
        samples[beta] = seen, expected, np.log(second) / beta
        rows[f"{beta:g}"] = {
            "runs": len(seen),
            "forecasts": count,
            "quartiles": np.quantile(seen, [0.25, 0.5, 0.75]).tolist(),
            "forecast quartiles": np.quantile(expected, [0.25, 0.5, 0.75]).tolist(),
            "p of the last merge": same,
            "p of the second token": uniform,
        }
        setup.report(0.5 + 0.5 * (i + 1) / len(ensembles.BETAS))
    sharp = rows[f"{ensembles.BETAS[-1]:g}"]
    low, middle, high = sharp["quartiles"]
    return Evidence(
        verdict=worst(verdicts),
        measured=(
            f"ln T/β: {low:.2f}, {middle:.2f}, {high:.2f} "
            f"({', '.join(f'{q:.2f}' for q in sharp['forecast quartiles'])}); p ≥ {least:.2g}"
        ),
        false_alarm=LEVEL,
        numbers={"beta": rows},
        data={"samples": samples},
    )


def _angle(log_time: Array, beta: float) -> Array:
    """The distance from which a token takes a time to meet another."""
    times = theory.log_meeting_time(_GRID, beta)
    inside = np.isfinite(times)
    angle: Array = np.interp(log_time, times[inside], _GRID[inside])
    return angle


def _rescaled(share: Array, beta: float) -> Array:
    """φ/π of tokens that do not start together, from 0 to 1."""
    least = cluster_radius(beta) / math.pi
    result: Array = (share - least) / (1 - least)
    return result


def _judge(p: float, level: float) -> Judgement:
    return "agrees" if p > level else "contradicts"


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the distribution functions of both times, scaled by β."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2, sharey=True)
    samples = evidence.data["samples"]
    for (beta, (seen, expected, second)), color in zip(
        samples.items(), (style.GREEN, style.BLUE, style.VERMILLION), strict=True
    ):
        left.ecdf(seen, color=color, linewidth=1.5, label=f"β = {beta:g}")
        left.ecdf(expected, color=color, linewidth=1, linestyle="dashed")
        right.ecdf(second, color=color, linewidth=1.5, label=f"β = {beta:g}")
    left.plot([], [], color=style.GREY, linewidth=1, linestyle="dashed", label="forecasts")
    law = np.linspace(0, 2, 400)
    right.plot(
        law, np.arccos(1 - law) / math.pi, color=style.BLACK, linewidth=1, linestyle="dashed",
        label="arcsine law (β → ∞)",
    )  # fmt: skip
    left.set(xlabel="ln T / β, last merge", ylabel="share of runs", xlim=(0, 2.05))
    right.set(xlabel="ln T / β, second token meets first", xlim=(-0.3, 2.05))
    left.legend(loc="upper left")
    right.legend(loc="lower right")


CLAIM = Claim(
    name="last-merge",
    title="The law of the last merge on the circle, and of the second token's",
    paper=OURS,
    status="conjecture",
    prediction="quartiles as forecast; second token: φ/π uniform",
    measure=measure,
    draw=draw,
    height=2.8,
)
