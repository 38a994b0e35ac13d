"""Theorems 1 and 2 of docs/theorem.md at finite β: how soon the limit is reached.

For a fixed start and β → ∞ token s joins the partner p(s) of the growing cars, at a time T with

    ln T/β → 1 − cos d_s,   ln T = β(1 − cos d_s) − ln(m_s β sin²d_s) + 2 cos d_s/(β sin²d_s) + …

where m_s is the number of tokens before s whose leader is p(s) when s arrives. Both are proved,
with no useful bound of how large β must be. So what is tested is that the limit describes runs with
β = 20 … 320: bars for the share of right partners and for what the next order leaves of ln T,
which must go like 1/β. They were set by the theorem and by other starts. The prediction
has no parameter that could be fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade import theory
from parkade.analysis.merging import merge_tree
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import lives
from parkade.experiments.claims.common.lives import SINCE
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.statistics import LEVEL, median_interval, worst
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate_many

N = 12
BETAS = (20.0, 40.0, 80.0, 160.0, 320.0)
DIMENSIONS = (2, 3)
TOL = 1e-8

SHARE = 0.95
"""The required share of right partners, for all β together."""

REST = 8.0
"""The median of what the next order leaves of ln T is to be below this, over β. By the theorem
it is about 2|cos d|/sin²d: more for short cars, which merge after t = 100 if β is large."""

_LEVEL = LEVEL / (1 + len(BETAS) * len(DIMENSIONS))


class Cars(NamedTuple):
    """What the theorem says of each token: its length d, its partner p, and the mass m there."""

    length: Array
    partner: NDArray[np.int64]
    mass: NDArray[np.int64]


def cars(start: Array) -> Cars:
    """The growing cars of a start, with partners and masses; −1 and 0 for the first token."""
    length = theory.growing_cars(start)
    partner, mass = np.full(len(start), -1), np.zeros(len(start), dtype=np.int64)
    for s in range(1, len(start)):
        angle = sphere.distance(start[:s], start[s])
        partner[s] = np.where(length[:s] > angle, angle, np.inf).argmin()
        leaders = [_leader(j, length[s], length, partner) for j in range(s)]
        mass[s] = leaders.count(int(partner[s]))
    return Cars(length, partner, mass)


def _leader(token: int, delta: float, length: Array, partner: NDArray[np.int64]) -> int:
    """The first token of a chain of partners whose car is longer than δ."""
    while not length[token] > delta:
        token = int(partner[token])
    return token


def log_time(beta: float, length: Array, mass: Array) -> Array:
    """The logarithm of the time of a merge, up to the next order."""
    result: Array = beta * (1 - np.cos(length)) - np.log(mass * beta * np.sin(length) ** 2)
    return result


@dataclass(frozen=True)
class Merges:
    """The late merges of some starts with one β in one dimension, and what the theorem says."""

    d: int
    beta: float
    right: NDArray[np.bool_]
    log_time: Array
    length: Array
    mass: Array

    @property
    def label(self) -> str:
        """As it is written in figures."""
        return f"{'circle' if self.d == 2 else 'S²'}, β = {self.beta:g}"

    @property
    def leading(self) -> Array:
        """What 1 − cos d leaves of ln T/β, for right partners."""
        result: Array = (self.log_time / self.beta - (1 - np.cos(self.length)))[self.right]
        return result

    @property
    def rest(self) -> Array:
        """What the next order leaves of ln T, for right partners."""
        law = log_time(self.beta, self.length, self.mass)
        result: Array = (self.log_time - law)[self.right]
        return result

    @property
    def exact(self) -> Array:
        """What the whole integral of Theorem 2 leaves of ln T, for right partners."""
        law = lives.log_times(self.length, self.mass, self.beta)
        result: Array = (self.log_time - law)[self.right]
        return result


def measure(setup: Setup) -> Evidence:
    """Simulate starts for each β, and compare every late merge with the theorem."""
    count = setup.choose(6, 15)
    starts = {
        d: [sphere.uniform(N, d, setup.generator(2, d, s)) for s in range(count)]
        for d in DIMENSIONS
    }
    cases = [(d, beta) for d in DIMENSIONS for beta in BETAS]
    merges = [follow(d, beta, starts[d]) for d, beta in setup.each(cases)]
    right = np.concatenate([one.right for one in merges])
    rest = np.concatenate([one.rest for one in merges if one.beta == BETAS[-1]])
    return Evidence(
        verdict=worst([judge_partners(right), *(judge_times(one) for one in merges)]),
        measured=f"{right.sum()}/{right.size} right; rest {_median(rest):.3f} at β = {BETAS[-1]:g}",
        false_alarm=LEVEL,  # if merges are independent
        numbers={"since": SINCE, "starts": count, "series": [_row(one) for one in merges]},
        data={"merges": merges},
    )


def follow(d: int, beta: float, starts: Sequence[Array]) -> Merges:
    """Simulate some starts until all has merged, or nearly so."""
    end = math.exp(min(2.02 * beta, 688.0))
    runs = simulate_many(Attention(d=d, beta=beta), starts, end, times="steps", tol=TOL)
    rows = []
    for run, start in zip(runs, starts, strict=True):
        law = cars(start)
        rows += [
            (law.partner[e.absorbed] == e.into, math.log(e.time), law.length[e.absorbed],
             law.mass[e.absorbed])
            for e in merge_tree(run).events
            if e.time > SINCE
        ]  # fmt: skip
    right, times, length, mass = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return Merges(d, beta, right.astype(bool), times, length, mass)


def judge_partners(right: NDArray[np.bool_]) -> Judgement:
    """The verdict on partners: it contradicts if so few right ones are improbable at the bar."""
    from scipy.stats import binom

    if binom.cdf(right.sum(), right.size, SHARE) <= _LEVEL:
        return "contradicts"
    return "agrees" if right.mean() >= SHARE else "undecided"


def judge_times(merges: Merges) -> Judgement:
    """The verdict on one series: it contradicts if the median of the rest is beyond the bar."""
    rest, bar = np.abs(merges.rest), REST / merges.beta
    if not rest.size:
        return "undecided"
    if median_interval(rest, 2 * _LEVEL)[0] > bar:  # one side of the interval counts
        return "contradicts"
    return "agrees" if np.median(rest) <= bar else "undecided"


def _median(errors: Array) -> float:
    """The median of the sizes of errors; infinite if there are none."""
    return float(np.median(np.abs(errors))) if errors.size else math.inf


def _row(merges: Merges) -> dict[str, Any]:
    row = {"series": merges.label, "merges": merges.right.size, "right": int(merges.right.sum())}
    if not row["right"]:
        return row
    wrong, leading = merges.log_time[~merges.right], float(merges.leading.mean())
    return row | {
        "latest_wrong": float(np.exp(wrong.max())) if wrong.size else None,
        "leading": {
            "mean": leading,
            "over ln β/β": leading * merges.beta / math.log(merges.beta),
        },
        "rest": {"median": _median(merges.rest), "largest": float(np.abs(merges.rest).max())},
        "exact": {"median": _median(merges.exact), "largest": float(np.abs(merges.exact).max())},
    }


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw shares of right partners, and what the limit and the next order leave, against β."""
    from parkade.plots import style

    share, left, after = figure.subplots(1, 3)
    betas = np.array(BETAS)
    for d, color, marker in ((2, style.BLUE, "o"), (3, style.VERMILLION, "^")):
        some = [one for one in evidence.data["merges"] if one.d == d]
        name = "circle" if d == 2 else "S²"
        line: dict[str, Any] = {"color": color, "marker": marker, "markersize": 3, "linewidth": 1}
        share.plot(betas, [one.right.mean() for one in some], label=name, **line)
        left.plot(betas, [-one.leading.mean() for one in some], **line)
        after.plot(betas, [_median(one.rest) for one in some], **line)
        after.plot(betas, [_median(one.exact) for one in some], linestyle="dotted", **line)
    bar: dict[str, Any] = {"color": style.GREY, "linewidth": 0.8, "zorder": 0}
    share.axhline(SHARE, linestyle="dashed", label="bar", **bar)
    left.plot(betas, np.log(betas) / betas, label="ln β / β", **bar)
    after.plot(betas, REST / betas, linestyle="dashed", label=f"bar: {REST:g}/β", **bar)
    after.plot([], [], color=style.BLACK, linewidth=1, label="next order")
    after.plot([], [], color=style.BLACK, linewidth=1, linestyle="dotted", label="T(d, m)")
    for ax in (share, left, after):
        ax.set(xscale="log", xlabel="β")
        ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
    for ax, ticks in ((left, (0.02, 0.05, 0.1, 0.2)), (after, 10.0 ** np.arange(-9, 1, 2))):
        ax.set_yscale("log")
        ax.set_yticks(ticks, [style.number(tick) for tick in ticks])
    for ax in (share, left, after):
        ax.minorticks_off()
        ax.legend(loc="lower left")
    share.set(ylabel="share of right partners", ylim=(0.8, 1.01))
    left.set(ylabel="mean of 1 − cos d − ln T/β")
    after.set(ylabel="median error of ln T", ylim=(1e-10, 1))


CLAIM = Claim(
    name="theorem-limit",
    title="As β grows, partners and merge times become those of growing cars",
    paper=OURS,
    status="theorem",
    prediction="partners ≥ 95%; ln T by the next order, up to 8/β",
    measure=measure,
    draw=draw,
)
