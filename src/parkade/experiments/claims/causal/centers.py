"""Figures 2 and 3: strong centres stay where they are, Rényi centres account for more tokens."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.census import BETA, END, RADIUS, TIMES, Census, N, look
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import LEVEL, unlikely, worst
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate_many

_BATCH = 25  # runs between reports; divides the number of runs


def measure(setup: Setup) -> Evidence:
    """Compare, run by run, how far centres move and how many tokens they consume."""
    runs = setup.choose(100, 500)
    model = Attention(d=2, beta=BETA)
    censuses: list[Census] = []
    while len(censuses) < runs:
        generators = [setup.generator(len(censuses) + k) for k in range(_BATCH)]
        starts = [sphere.uniform(N, 2, rng) for rng in generators]
        followed = simulate_many(model, starts, END, times=TIMES)
        censuses += [look(run, rng) for run, rng in zip(followed, generators, strict=True)]
        setup.report(len(censuses) / runs)
    shares = np.array([run.shares for run in censuses])  # (runs, 3, times)
    # The centres of one run are not independent, so each run counts once.
    farther = [run.weak.mean() - run.strong.mean() for run in censuses if run.both]
    votes = [signs(farther), signs(shares[:, 0, -1] - shares[:, 2, -1])]
    # The two tests share the level.
    verdicts = [unlikely(2 * sign_test(*v), v[0] > v[1]) for v in votes]
    strong = np.concatenate([run.strong for run in censuses])
    weak = np.concatenate([run.weak for run in censuses])
    stay = [float(np.mean(moved < RADIUS)) for moved in (strong, weak)]
    end = shares[:, :, -1].mean(axis=0).tolist()
    return Evidence(
        verdict=worst(verdicts),
        measured=f"{stay[0]:.0%} stay, {stay[1]:.0%} of others; cover {end[1]:.0%}, {end[0]:.0%}",
        false_alarm=LEVEL,
        numbers={
            "runs": runs,
            "radius": RADIUS,
            "within_radius_strong": stay[0],
            "within_radius_other_renyi": stay[1],
            "median_move_strong": float(np.median(strong)),
            "median_move_other_renyi": float(np.median(weak)),
            "runs_strong_move_less_more": votes[0],
            "consumed_renyi": end[0],
            "consumed_strong": end[1],
            "consumed_control": end[2],
            "runs_renyi_above_strong": signs(shares[:, 0, -1] - shares[:, 1, -1])[0],
            "runs_renyi_above_below_control": votes[1],
        },
        data={"shares": shares, "moves": (strong, weak)},
    )


def signs(differences: ArrayLike) -> tuple[int, int]:
    """Numbers of positive and of negative differences."""
    x = np.asarray(differences)
    return int((x > 0).sum()), int((x < 0).sum())


def sign_test(successes: int, failures: int) -> float:
    """The probability of a majority at least as clear on either side if both are equally likely."""
    from scipy.stats import binom

    return float(min(1, 2 * binom.sf(max(successes, failures) - 1, successes + failures, 0.5)))


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the shares consumed over time, as in Figure 3, and how far centres move."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2)
    kinds = (("Rényi centres", style.BLACK), ("strong Rényi centres", style.VERMILLION))
    for share, (name, color) in zip(
        evidence.data["shares"].transpose(1, 0, 2)[:2], kinds, strict=True
    ):
        low, high = np.quantile(100 * share, [0.1, 0.9], axis=0)
        left.fill_between(TIMES, low, high, color=color, alpha=0.2, linewidth=0)
        left.plot(TIMES, 100 * share.mean(axis=0), color=color, linewidth=1.2, label=name)
    left.set(xlabel="time t", ylabel="% of tokens consumed", xlim=(0, END), ylim=(0, 102))
    left.set_title("mean, 10th to 90th percentile")
    left.legend(loc="lower right")
    bins = np.geomspace(1e-6, math.pi, 27)
    others = (kinds[1], ("other Rényi centres", style.BLACK))
    for move, (name, color) in zip(evidence.data["moves"], others, strict=True):
        clipped = np.clip(move, bins[0], None)
        weights = np.full(len(move), 100 / len(move))
        right.hist(clipped, bins, weights=weights, histtype="stepfilled", color=color, alpha=0.25)
        right.hist(clipped, bins, weights=weights, histtype="step", color=color)
        right.plot([], [], color=color, label=name)
    right.axvline(RADIUS, color=style.GREY, linewidth=0.8, linestyle="dashed")
    right.set(xscale="log", xlim=(bins[0], bins[-1]), ylabel="% of centres")
    right.set_xlabel(f"angle moved by t = {END:g} (leftmost: less than that)")
    right.set_title("dashed: the radius of consumption")
    right.legend(loc="upper center")


CLAIM = Claim(
    name="centers",
    title="Strong centres stay; Rényi centres cover more, but move",
    paper=CAUSAL_CLUSTERING,
    status="observed",
    prediction="strong ones stay, others less; Rényi centres cover more",
    measure=measure,
    draw=draw,
)
