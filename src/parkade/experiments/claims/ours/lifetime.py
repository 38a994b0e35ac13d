"""Ours: a plateau ends after T ≈ e^{β(1−cos φ)} / (mβ sin²φ).

Derived, for a leader that m earlier tokens pull from the distance φ, and nothing else: the
plateau ends when it reaches them, after the time T(φ, m) of `theory.log_meeting_time`. Its
logarithm is β(1−cos φ) − ln(mβ sin²φ), up to 2 cos φ/(β sin²φ); the short formula fails near
φ = π. For full attention Bruno and others (arXiv 2509.25040) have the time scale e^{β(1−cos φ)}.

Not derived: that one cluster alone decides in a run of many. So this is what is measured.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import lives
from parkade.experiments.claims.common.lives import Fate, FateArrays, LifeSeries
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.statistics import LEVEL, Mean, allowed_sigmas, fit_slope, worst

SERIES = (
    LifeSeries(2, 16.0, 200, few=0, many=100),
    LifeSeries(2, 32.0, 200, few=6, many=60),
    LifeSeries(2, 64.0, 200, few=5, many=50),
    LifeSeries(3, 32.0, 150, few=5, many=40),
)

TOLERANCE = 0.01
"""Allowed effect of the pulls of other clusters on the slope; it is not derived."""

SHARP = 0.05
"""A slope that is known less well decides nothing."""

SHORT = 5.0
"""The short formula is meant where β sin²φ is at least this."""

LARGE = 0.3
"""Errors of ln T above this are looked at one by one."""

ALONE = 0.9
"""A partner with at least this share of all pulls is as good as alone."""

EARLY = 1e4
"""Errors before this time are counted apart: tokens that pass while clusters form may move a
leader, which the law of one pair does not know."""


class LateMerges(NamedTuple):
    """The late merges of a series: what was seen, and three predictions of ln T."""

    series: LifeSeries
    fates: FateArrays
    seen: Array
    scale: Array
    """The leading term β(1−cos φ) of ln T."""
    short: Array
    """The short formula, β(1−cos φ) − ln(mβ sin²φ)."""
    exact: Array
    """The law without approximation, ln T(φ, m)."""

    def slope(self, predicted: Array) -> Mean:
        """The slope against β(1−cos φ) of ln T without the rest of a prediction."""
        return fit_slope(self.scale, self.seen - (predicted - self.scale))


def measure(setup: Setup) -> Evidence:
    """Compare the ends of plateaus with the law."""
    merges = [observe(s, part) for s, part in lives.chosen(SERIES, setup)]
    slopes = [p.slope(p.exact) for p in merges]
    allowed = allowed_sigmas(len(merges))
    raw = np.concatenate([p.seen - p.scale for p in merges]).std()
    rest = np.concatenate([p.seen - p.exact for p in merges])
    low, high = min(s.value for s in slopes), max(s.value for s in slopes)
    verdict = worst(judge(s, allowed) for s in slopes)
    if rest.std() >= raw and verdict == "agrees":
        verdict = "undecided"  # the correction corrects nothing
    return Evidence(
        verdict=verdict,
        measured=f"slopes {low:.3f} … {high:.3f}; sd of ln T {raw:.2f}, {rest.std():.2f} with m, φ",
        false_alarm=LEVEL,  # if merges are independent
        numbers={
            "allowed_sigmas": allowed,
            "tolerance": TOLERANCE,
            "median_error": float(np.median(np.abs(rest))),
            "series": [_row(p) for p in merges],
        },
        data={"merges": merges},
    )


def observe(series: LifeSeries, setup: Setup) -> LateMerges:
    """Simulate the starts of a series and collect the late merges."""
    merges: list[Fate] = []
    for run, tree in lives.simulate(series, setup, stream=2):
        merges += lives.fates(run.tokens[0], tree, series.beta)
    return predicted(series, lives.columns(merges))


def predicted(series: LifeSeries, merges: FateArrays) -> LateMerges:
    """Put the predictions beside what was seen."""
    beta, angle = series.beta, merges.angle
    scale = 2 * beta * np.sin(angle / 2) ** 2
    short = scale - np.log(merges.mass * beta * np.sin(angle) ** 2)
    exact = lives.log_times(angle, merges.mass, beta)
    return LateMerges(series, merges, np.log(merges.time), scale, short, exact)


def judge(slope: Mean, allowed: float) -> Judgement:
    """Whether a slope is 1, up to the allowed number of standard errors and the tolerance."""
    reach = allowed * slope.error
    if abs(slope.value - 1) > reach + TOLERANCE:
        return "contradicts"
    return "agrees" if reach <= SHARP else "undecided"


def _row(p: LateMerges) -> dict[str, Any]:
    fates, rest = p.fates, p.seen - p.exact
    fit = p.series.beta * np.sin(fates.angle) ** 2 >= SHORT
    off = np.abs(rest) > LARGE
    return {
        "series": p.series.label,
        "merges": rest.size,
        "slope": list(p.slope(p.exact)),
        "slope_without_correction": list(p.slope(p.scale)),
        "slope_short_formula": list(p.slope(p.short)),
        "sd": float(rest.std()),
        "sd_without_correction": float((p.seen - p.scale).std()),
        "sd_short_formula": float((p.seen - p.short).std()),
        "median_error": float(np.median(np.abs(rest))),
        "near_pi": {
            "merges": int(np.sum(~fit)),
            "sd_short_formula_elsewhere": float((p.seen - p.short)[fit].std()),
        },
        "large_errors": _anatomy(fates, off),
        # A reason explains errors only if it is rarer among all merges.
        "all_merges": _anatomy(fates, np.ones_like(off)),
        "share_of_errors_below_1_percent": float(np.mean(np.abs(rest) < 0.01)),
    }


def _anatomy(fates: FateArrays, some: NDArray[np.bool_]) -> dict[str, int]:
    return lives.anatomy(
        some, other_clusters_pull=fates.share < ALONE, before_t_10000=fates.time < EARLY
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw ln T against β(1−cos φ), and what each prediction leaves."""
    from parkade.plots import style

    line, rest = figure.subplots(1, 2)
    merges = evidence.data["merges"]
    for p, (color, marker) in zip(merges, lives.looks([p.series for p in merges]), strict=True):
        look = {"s": 8, "marker": marker, "linewidths": 0.6, "rasterized": True}
        line.scatter(
            p.scale, p.seen, facecolors="none", edgecolors=color, label=p.series.label, **look
        )
        rest.scatter(p.scale, p.seen - p.scale, color=style.PALE, zorder=0, **look)
        rest.scatter(p.scale, p.seen - p.exact, facecolors="none", edgecolors=color, **look)
    top = max(float(p.scale.max()) for p in merges)
    line.plot([0, top], [0, top], color=style.GREY, linewidth=0.8, zorder=0)
    line.set(xlabel="β(1 − cos φ)", ylabel="ln T, simulated")
    line.legend(loc="upper left")
    rest.axhline(0, color=style.GREY, linewidth=0.8, zorder=0)
    rest.set(xlabel="β(1 − cos φ)", ylabel="ln T − prediction")
    rest.set_title("grey: β(1 − cos φ) alone; coloured: ln T(φ, m)")


CLAIM = Claim(
    name="plateau-lifetime",
    title="A plateau ends after T ≈ exp(β(1 − cos φ)) / (mβ sin²φ)",
    paper=OURS,
    status="derived",
    prediction="slope 1 of ln T in β(1−cos φ); m and φ give the rest",
    measure=measure,
    draw=draw,
    height=3.2,
)
