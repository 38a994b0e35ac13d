"""Rényi 1958: the number of Rényi centres on the circle is, on average, 1 + M(2π/δ − 1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from parkade import theory
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import LEVEL, allowed_sigmas, mean
from parkade.model import sphere
from parkade.theory.parking import renyi_centers

FIGURE_2 = 4 / 64**0.5
"""The separation of the paper's Figure 2: δ = 4β^{-1/2} with β = 64."""

DELTAS = (2 * math.pi / 3.5, 2 * math.pi / 5.5, 2 * math.pi / 8, FIGURE_2, 0.2)

TOKENS = 200
"""The first tokens come anywhere on the circle, as in the figure; later ones only where a centre
still fits."""


def measure(setup: Setup) -> Evidence:
    """Add tokens until there is no place for another centre, and count the centres."""
    samples = setup.choose(2000, 5000)
    few = np.empty((len(DELTAS), samples))  # centres among the first TOKENS
    full = np.empty((len(DELTAS), samples))
    for i, delta in enumerate(DELTAS):
        rng = setup.generator(i)
        starts = sphere.uniform(samples * TOKENS, 2, rng).reshape(samples, TOKENS, 2)
        for s in setup.part(i, len(DELTAS)).each(range(samples)):
            _, centers = saturate(starts[s], delta, rng)
            full[i, s], few[i, s] = len(centers), np.searchsorted(centers, TOKENS)
    means = [mean(counts) for counts in full]
    expected = [float(theory.expected_renyi_centers(delta)) for delta in DELTAS]
    worst = max(m.sigmas(e) for m, e in zip(means, expected, strict=True))
    allowed = allowed_sigmas(len(DELTAS))
    seen = means[DELTAS.index(FIGURE_2)].value
    return Evidence(
        verdict="agrees" if worst <= allowed else "contradicts",
        measured=f"{seen:.3f} (δ={FIGURE_2:g}); {worst:.1f} standard errors off at most",
        false_alarm=LEVEL,
        numbers={
            "samples": samples,
            "delta": list(DELTAS),
            "counts": [m.value for m in means],
            "errors": [m.error for m in means],
            "expected": expected,
            "sigmas": worst,
            "allowed": allowed,
            "first_tokens": TOKENS,
            "counts_among_first": few.mean(axis=1).tolist(),
        },
    )


def saturate(
    tokens: Array, delta: float, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """Add tokens until there is no room for another centre; return all tokens and the centres.

    A token near a centre changes nothing. So the next one that matters is uniform where there
    is room, and can be drawn there directly. The centres have the same law as those of
    infinitely many uniform tokens: there is no bias from a finite number.
    """
    while True:
        centers = renyi_centers(tokens, delta)
        at = np.sort(sphere.angles(tokens[centers]))
        gaps = np.diff(at, append=at[0] + 2 * math.pi)
        room = np.cumsum(np.maximum(gaps - 2 * delta, 0.0))
        if room[-1] < 1e-12:  # rounding
            return tokens, centers
        # Any number of tokens gives the right law; this one needs few rounds.
        u = rng.uniform(0, room[-1], 2 * len(at))
        gap = np.searchsorted(room, u, side="right")
        arrivals = (at + gaps)[gap] - delta - (room[gap] - u)
        tokens = np.concatenate([tokens, sphere.from_angles(arrivals)])


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the share of the circle that is occupied, with Rényi's curve."""
    from parkade.plots import style

    numbers = evidence.numbers
    ax = figure.subplots()
    length = np.geomspace(2.001, 40, 2000)
    curve = theory.expected_renyi_centers(2 * math.pi / length) / length
    ax.axhline(theory.PARKING_CONSTANT, color=style.GREY, linewidth=0.8, linestyle="dashed")
    ax.text(40, theory.PARKING_CONSTANT + 0.01, "parking constant 0.7476", ha="right")
    ax.plot(length, curve, color=style.BLUE, linewidth=1, label="(1 + M(2π/δ − 1)) · δ/(2π)")
    at = 2 * math.pi / np.array(numbers["delta"])
    ax.errorbar(
        at, numbers["counts"] / at, 5 * np.array(numbers["errors"]) / at,
        fmt="o", color=style.VERMILLION, markersize=3, label="measured, ± 5 standard errors",
    )  # fmt: skip
    ax.plot(
        at, numbers["counts_among_first"] / at, "o", color=style.VERMILLION, markersize=4,
        markerfacecolor="none", label=f"among the first {TOKENS} tokens only",
    )  # fmt: skip
    ax.set(xlabel="2π/δ", ylabel="centres · δ/(2π)", xlim=(2, 40), ylim=(0.6, 1.02))
    ax.set_xscale("log")
    ax.set_xticks([2, 3, 5, 10, 20, 40], ["2", "3", "5", "10", "20", "40"])
    ax.minorticks_off()
    ax.legend(loc="upper right")


CLAIM = Claim(
    name="renyi-count",
    title="The number of Rényi centres on the circle (Rényi's parking problem)",
    paper=CAUSAL_CLUSTERING,
    status="lemma",
    prediction=f"{theory.expected_renyi_centers(FIGURE_2):.3f} (δ={FIGURE_2:g})",
    measure=measure,
    draw=draw,
)
