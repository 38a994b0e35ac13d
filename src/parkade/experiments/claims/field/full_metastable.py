"""Full attention: separated groups become clusters by a time ~β and stay until log T ~ β.

Their theorem bounds both times. Two more are derived here. In a group that feels no other one,
differences decay like e^{−t}, so it is e^{−cβ} wide after a time cβ + O(1). Two clusters of a and b
tokens at the angle φ approach each other by

    dφ/dt = −sin φ (b/(a e^{βh} + b) + a/(b e^{βh} + a)),    h = 1 − cos φ,

so they meet after T ≈ e^{β(1−cos φ)}/((a/b + b/a) β sin²φ).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common.plateau import cluster_counts
from parkade.experiments.experiment import Figure, Setup
from parkade.experiments.statistics import worst
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

CENTERS, WIDTH, GROUPS = (0.0, 1.5, 3.6), 0.15, (6, 8, 7)
"""Places of the groups on a great circle, their half width, and their numbers of tokens."""

BETAS = (8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0)
NARROW = 0.3
"""Groups are clusters once they are narrower than e^{−NARROW·β}."""

SPREAD = {"forming": 0.05, "staying": 0.02, "meeting": 0.05}
"""Allowed errors: of both slopes against β, relative, and of the logarithm of the meeting time."""

STILL = 0.1
"""Allowed motion of clusters, in radians, until a tenth of the time at which two meet."""

STAIRS = {"beta": 16.0, "tokens": 40, "share": 0.95}
"""A random start on the circle, and the share of the rise of the energy that is at merges."""

TOL = 1e-8


class GroupTimes(NamedTuple):
    """The times of one run."""

    beta: float
    formed: float
    """The time at which all groups are narrow."""
    met: float
    """The time for which two clusters stay apart, from t = 5β on."""
    derived: float
    """The derived time for that."""
    height: float
    """1 − cos φ for them."""
    moved: float
    """The largest move of a token from `formed` to a tenth of `met`."""


def meeting_time(beta: float, phi: float, a: int, b: int) -> float:
    """The derived time until two clusters at the angle φ meet."""
    from scipy.integrate import quad

    top = beta * (1 - math.cos(phi))

    def slowness(angle: float) -> float:
        h = math.exp(beta * (1 - math.cos(angle)))
        return math.exp(-top) / (math.sin(angle) * (b / (a * h + b) + a / (b * h + a)))

    # The last part, φ < 0.01, takes a time of order 1.
    return math.exp(top) * float(quad(slowness, 0.01, phi, epsabs=0, epsrel=1e-8, limit=200)[0])


def groups(d: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    """Tokens in separated caps, and the number of the cap of each."""
    label = np.repeat(np.arange(len(GROUPS)), GROUPS)
    centers = np.zeros((len(CENTERS), d))
    centers[:, :2] = sphere.from_angles(CENTERS)
    away = rng.standard_normal((len(label), d))
    away -= np.sum(away * centers[label], axis=1, keepdims=True) * centers[label]
    away *= WIDTH * rng.random((len(label), 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    return sphere.normalize(centers[label] + away), label


def live(beta: float, tokens: Array, label: NDArray[np.int64]) -> GroupTimes | None:
    """Follow groups until two have met; None if rounding may move them."""
    model = Attention(d=tokens.shape[1], beta=beta, mask="full")
    early = simulate(model, tokens, 5 * beta, tol=TOL)
    width = np.array([spread(x, label) for x in early.tokens])
    narrow = math.exp(-NARROW * beta)
    crossed = int(np.argmax(width < narrow))
    near = slice(crossed - 1, crossed + 1)
    formed = np.interp(-math.log(narrow), -np.log(width[near]), early.times[near])
    middles = np.array([early.final[label == q].mean(axis=0) for q in range(len(GROUPS))])
    phi = float(sphere.distance(middles[0], middles[1]))
    derived = meeting_time(beta, phi, *GROUPS[:2])
    run = simulate(model, early.final, 1.05 * derived, tol=TOL, method="implicit")
    counts = cluster_counts(run.tokens, 0.2 / math.sqrt(beta))
    merged = int(np.argmax(counts < len(GROUPS)))
    met = float(run.times[merged])
    if counts[merged] == len(GROUPS) or run.trusted_until < met:
        return None
    moved = sphere.distance(run.at(met / 10), run.tokens[0]).max()
    return GroupTimes(beta, float(formed), met, derived, 1 - math.cos(phi), float(moved))


def spread(tokens: Array, label: NDArray[np.int64]) -> float:
    """The largest distance of two tokens of one group."""
    i, j = np.nonzero(label[:, None] == label)
    return float(sphere.distance(tokens[i], tokens[j]).max())


def slope_of(x: list[float], y: list[float]) -> float:
    """The slope of a line through points."""
    return float(np.polyfit(x, y, 1)[0])


def measure(setup: Setup) -> Evidence:
    """Time the formation and the meeting of clusters against β; follow an energy."""
    betas = setup.choose(BETAS[::3], BETAS)
    cases = [(d, k) for d in setup.choose((2,), (2, 3)) for k in range(setup.choose(1, 2))]
    series: list[list[GroupTimes]] = []
    verdicts: list[Judgement] = []
    forming, staying, off, moved = [], [], 0.0, 0.0
    for i, (d, k) in enumerate(cases):
        tokens, label = groups(d, setup.generator(d, k))
        steps = setup.part(i, len(cases) + 1).each(betas)
        all_lives = [live(beta, tokens, label) for beta in steps]
        lives = [life for life in all_lives if life is not None]
        verdicts.append("agrees" if len(lives) == len(betas) else "undecided")
        if len(lives) > 1:
            forming.append(slope_of([x.beta for x in lives], [x.formed for x in lives]) / NARROW)
            # β(1−cos φ) instead of β: the place of a cluster depends a little on β.
            climb = [x.beta * x.height for x in lives]
            staying.append(slope_of(climb, [math.log(x.met * x.beta) for x in lives]))
            off = max(off, *(abs(math.log(x.met / x.derived)) for x in lives))
            moved = max(moved, *(x.moved for x in lives))
        series.append(lives)
    share, part, stairs = staircase(setup)
    errors = {
        "forming": max((abs(s - 1) for s in forming), default=0.0),
        "staying": max((abs(s - 1) for s in staying), default=0.0),
        "meeting": off,
    }
    low, high = min(staying, default=0.0), max(staying, default=0.0)
    good = all(errors[name] <= SPREAD[name] for name in SPREAD)
    good &= moved < STILL and share >= STAIRS["share"]
    verdicts.append("agrees" if good else "contradicts")
    return Evidence(
        verdict=worst(verdicts),
        measured=(f"slopes {low:.3f} … {high:.3f}; {share:.1%} of the rise in {part:.0%} of ln t"),
        false_alarm=0.0,  # the laws hold for every start of this kind
        numbers={
            "lives": [[life._asdict() for life in lives] for lives in series],
            "slope_of_forming": forming,
            "slope_of_log_lifetime": staying,
            "largest_error_of_log_time": off,
            "moved_before_a_tenth": moved,
            "share_of_rise_at_merges": share,
            "share_of_log_time_at_merges": part,
        },
        data={"series": series, "stairs": stairs},
    )


def staircase(setup: Setup) -> tuple[float, float, tuple[Array, Array, NDArray[np.int64]]]:
    """The shares of the rise of the energy, and of ln t, within a factor of two of merges.

    Both are taken from t = β on. Also the times, the energy and the numbers of clusters.
    """
    beta, n = STAIRS["beta"], int(STAIRS["tokens"])
    model = Attention(d=2, beta=beta, mask="full")
    x0 = sphere.uniform(n, 2, setup.generator(99))
    run = simulate(model, x0, math.exp(2.1 * beta), tol=1e-7)
    energy = np.array([np.exp(beta * (x @ x.T - 1)).sum() / n**2 for x in run.tokens])
    counts = cluster_counts(run.tokens, 0.2 / math.sqrt(beta))
    late = run.times[1:] > beta
    times, rise = run.times[1:][late], np.diff(energy)[late]
    lengths = np.diff(np.log(np.maximum(run.times, 1e-9)))[late]
    merges = times[np.diff(counts)[late] < 0]
    near = (np.abs(np.log(times[:, None] / merges)) < math.log(2)).any(axis=1)
    share = float(rise[near].sum() / rise.sum())
    return share, float(lengths[near].sum() / lengths.sum()), (run.times, energy, counts)


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the times against β, and an energy with the number of clusters."""
    from parkade.plots import style

    left, middle, right = figure.subplots(1, 3)
    for lives in evidence.data["series"]:
        beta = np.array([life.beta for life in lives])
        left.plot(beta, [life.formed for life in lives], "o", color=style.BLUE, markersize=3)
        middle.plot(beta, [life.met for life in lives], "o", color=style.BLUE, markersize=3)
        middle.plot(beta, [life.derived for life in lives], color=style.VERMILLION, linewidth=1)
        offset = np.mean([life.formed - NARROW * life.beta for life in lives])
        left.plot(beta, NARROW * beta + offset, color=style.VERMILLION, linewidth=1)
    left.set(xlabel="β", ylabel=f"time until groups are e$^{{-{NARROW:g}β}}$ wide", ylim=(0, None))
    left.set_title(f"forming: slope {NARROW:g}")
    middle.set(xlabel="β", yscale="log", ylabel="time until two clusters meet")
    middle.set_title("meeting (line: derived)")
    times, energy, counts = evidence.data["stairs"]
    right.plot(times[1:], energy[1:], color=style.BLUE, linewidth=1.2)
    right.set(xscale="log", xlabel="time t", xlim=(0.1, times[-1]), ylabel="energy")
    right.yaxis.label.set_color(style.BLUE)
    numbers = right.twinx()
    numbers.plot(times[1:], counts[1:], color=style.GREY, linewidth=0.8)
    numbers.set(yscale="log", yticks=(1, 3, 10, 30), yticklabels=("1", "3", "10", "30"))
    numbers.set_ylabel("clusters", color=style.GREY)
    numbers.spines["right"].set_visible(True)
    right.set_title(f"uniform start, β = {STAIRS['beta']:g}")


CLAIM = Claim(
    name="full-metastable",
    title="Full attention: clusters form by t ~ β and stay until log T ~ β",
    paper="2410.06833",
    status="theorem",
    prediction="ln T ≈ β(1−cos φ), slope 1; the energy rises at merges",
    measure=measure,
    draw=draw,
)
