"""Ours: leaders stand still until they merge.

Derived, for a leader at the distance φ of m tokens that stand still: at the time κT, where T is
when it reaches them, it is at the distance p with T(p, m) = (1−κ) T(φ, m). So it has moved by

    δ = φ − p = ln(1/(1−κ)) / (β sin φ) · [1 + (2 + ln(1/(1−κ))/2) cos φ/(β sin²φ) + …],

which is far less than β^{-1/2} unless φ is near 0 or π. The whole way is made at the end. In a
run of many clusters others pull as well; how much they change is measured, not derived. The
series in 1/β is not needed for the test, which solves T(p, m) = (1−κ) T(φ, m) for p.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import lives
from parkade.experiments.claims.common.lives import Fate, FateArrays, LifeSeries
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.statistics import LEVEL, median_interval, worst
from parkade.model import sphere
from parkade.theory.meeting import cluster_radius

SERIES = (
    LifeSeries(2, 16.0, 200, few=0, many=80),
    LifeSeries(2, 32.0, 200, few=6, many=50),
    LifeSeries(2, 64.0, 200, few=4, many=40),
    LifeSeries(3, 16.0, 150, few=0, many=40),
    LifeSeries(3, 32.0, 150, few=4, many=30),
    LifeSeries(3, 64.0, 150, few=0, many=10),
)

SHARES = (0.5, 0.9)
"""The shares κ of its time at which a leader is looked at."""

TOLERANCE = 0.05
"""Allowed effect of the pulls of other clusters on the median; it is not derived."""


class Moves(NamedTuple):
    """The moves of the leaders of a series, (merges, shares)."""

    series: LifeSeries
    fates: FateArrays
    moved: Array
    derived: Array

    @property
    def leading(self) -> Array:
        """The leading term, ln(1/(1−κ)) / (β sin φ)."""
        lead: Array = -np.log1p(-np.array(SHARES)) / (
            self.series.beta * np.sin(self.fates.angle)[:, None]
        )
        return lead


def measure(setup: Setup) -> Evidence:
    """Look at leaders at half of their time and at nine tenths."""
    moves = [observe(s, part) for s, part in lives.chosen(SERIES, setup)]
    ratios = np.concatenate([m.moved / m.derived for m in moves])
    intervals = [median_interval(r, LEVEL / len(SHARES)) for r in ratios.T]
    medians = np.median(ratios, axis=0)
    return Evidence(
        verdict=worst(judge(*interval) for interval in intervals),
        measured=", ".join(f"{m:.3f} at {k:g}T" for m, k in zip(medians, SHARES, strict=True))
        + f", median of {len(ratios)} leaders",
        false_alarm=LEVEL,  # if merges are independent
        numbers={
            "shares": list(SHARES),
            "tolerance": TOLERANCE,
            "medians": medians.tolist(),
            # None is infinite: there are too few merges.
            "intervals": [[x if math.isfinite(x) else None for x in i] for i in intervals],
            "within_5_percent": np.mean(np.abs(ratios - 1) < 0.05, axis=0).tolist(),
            "series": [_row(m) for m in moves],
            "exponents_of_beta": {
                name: _exponent([m for m in moves if m.series.d == d])
                for d, name in ((2, "circle"), (3, "S²"))
            },
        },
        data={"moves": moves},
    )


def observe(series: LifeSeries, setup: Setup) -> Moves:
    """Simulate the starts of a series and look where leaders are before they merge."""
    merges: list[Fate] = []
    moved: list[Array] = []
    for run, tree in lives.simulate(series, setup, stream=3):
        start = run.tokens[0]
        for fate in lives.fates(start, tree, series.beta):
            place = run.at(fate.time * np.array(SHARES))[:, fate.leader]
            merges.append(fate)
            moved.append(sphere.distance(place, start[fate.leader]))
    late = lives.columns(merges)
    derived = [displacement(late.angle, late.mass, series.beta, share) for share in SHARES]
    return Moves(series, late, np.array(moved).reshape(-1, len(SHARES)), np.transpose(derived))


def displacement(angle: Array, mass: Array, beta: float, share: float) -> Array:
    """The move φ − p of a leader at a share of its time, if its partner stands still."""
    goal = lives.log_times(angle, mass, beta) + math.log1p(-share)
    low, high = np.full_like(angle, cluster_radius(beta)), angle.copy()
    for _ in range(60):
        middle = (low + high) / 2
        later = lives.log_times(middle, mass, beta) > goal
        low, high = np.where(later, low, middle), np.where(later, middle, high)
    moved: Array = angle - high
    return moved


def judge(low: float, high: float) -> Judgement:
    """Whether the median is 1 up to the tolerance, by an interval for it."""
    if low > 1 + TOLERANCE or high < 1 - TOLERANCE:
        return "contradicts"
    return "agrees" if low >= 1 - TOLERANCE and high <= 1 + TOLERANCE else "undecided"


def _row(m: Moves) -> dict[str, Any]:
    return {
        "series": m.series.label,
        "merges": len(m.moved),
        "median_moved": np.median(m.moved, axis=0).tolist(),
        "median_moved_in_ranges": (np.median(m.moved, axis=0) * math.sqrt(m.series.beta)).tolist(),
        "median_angle": float(np.median(m.fates.angle)),
        "median_over_derived": np.median(m.moved / m.derived, axis=0).tolist(),
        "median_over_leading_term": np.median(m.moved / m.leading, axis=0).tolist(),
        "median_beta_times_moved_sin": np.median(
            m.moved * np.sin(m.fates.angle)[:, None] * m.series.beta, axis=0
        ).tolist(),
    }


def _exponent(moves: list[Moves]) -> float | None:
    """The exponent of β of the median displacement at half the time, by least squares."""
    if len(moves) < 2:
        return None
    beta = np.log([m.series.beta for m in moves])
    return float(np.polyfit(beta, np.log([np.median(m.moved[:, 0]) for m in moves]), 1)[0])


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw how far leaders had moved against what is derived, and how that falls with β."""
    from parkade.plots import style

    each, fall = figure.subplots(1, 2)
    moves: list[Moves] = evidence.data["moves"]
    betas = sorted({m.series.beta for m in moves})
    for m, (color, marker) in zip(moves, lives.looks([m.series for m in moves]), strict=True):
        each.scatter(
            m.derived[:, 0], m.moved[:, 0], s=8, marker=marker, facecolors="none",
            edgecolors=color, linewidths=0.6, label=m.series.label, rasterized=True,
        )  # fmt: skip
        typical = np.median(m.moved, axis=0)
        for k, face in ((0, color), (1, "none")):
            fall.scatter(
                m.series.beta, typical[k], s=22, marker=marker, facecolors=face, edgecolors=color
            )
    way = np.concatenate([m.derived[:, 0] for m in moves])
    reach = [way.min(), way.max()]
    each.plot(reach, reach, color=style.GREY, linewidth=0.8, zorder=0)
    each.set(xscale="log", yscale="log", xlabel="derived: φ − p", ylabel="moved at T/2")
    each.legend(loc="lower right")
    grid = np.geomspace(0.8 * betas[0], 1.25 * betas[-1], 50)
    fall.plot(grid, grid**-0.5, color=style.BLACK, linewidth=0.8, label="β$^{-1/2}$, the range")
    for k, dash in ((0, "dashed"), (1, "dotted")):
        fall.plot(
            grid, -math.log1p(-SHARES[k]) / grid, color=style.GREY, linewidth=0.9, linestyle=dash,
            label=f"ln({1 / (1 - SHARES[k]):.0f})/β",
        )  # fmt: skip
    fall.set(xscale="log", yscale="log", xlabel="β", ylabel="median of the way moved")
    fall.set_xticks(betas, [f"{beta:g}" for beta in betas])
    fall.minorticks_off()
    fall.set_title("filled: at T/2; hollow: at 0.9 T")
    fall.legend(loc="lower left")


CLAIM = Claim(
    name="drift",
    title="Leaders stand still until they merge",
    paper=OURS,
    status="derived",
    prediction="moved 1 × what is derived, ≈ ln(1/(1−κ))/(β sin φ)",
    measure=measure,
    draw=draw,
    height=3.2,
)
