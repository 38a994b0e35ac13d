"""Lemma C.1: the expected number of strong Rényi centres is Σ_{k≤n} (1−σ)^{k−1}."""

from __future__ import annotations

import numpy as np

from parkade import theory
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import LEVEL, Mean, allowed_sigmas, mean
from parkade.model import sphere
from parkade.theory.parking import strong_renyi_centers

DIMENSIONS = {2: 0.3, 3: 0.5, 5: 0.9}
"""The dimensions, each with an angle δ that gives about ten centres."""

NUMBERS = (5, 20, 80, 320)


def measure(setup: Setup) -> Evidence:
    """Count the strong centres of uniform tokens."""
    samples = setup.choose(2000, 5000)
    counts: dict[int, list[Mean]] = {}
    expected: dict[int, list[float]] = {}
    worst = 0.0
    for i, (d, delta) in enumerate(DIMENSIONS.items()):
        rng = setup.generator(d)
        sample = np.empty((samples, len(NUMBERS)))
        for s in setup.part(i, len(DIMENSIONS)).each(range(samples)):
            # The centres among the first n tokens are the centres below n.
            centers = strong_renyi_centers(sphere.uniform(NUMBERS[-1], d, rng), delta)
            sample[s] = np.searchsorted(centers, NUMBERS)
        counts[d] = [mean(column) for column in sample.T]
        expected[d] = [float(theory.expected_strong_centers(delta, d, n)) for n in NUMBERS]
        worst = max(worst, *(m.sigmas(e) for m, e in zip(counts[d], expected[d], strict=True)))
    allowed = allowed_sigmas(len(DIMENSIONS) * len(NUMBERS))
    last = ", ".join(f"{counts[d][-1].value:.2f} (d={d})" for d in DIMENSIONS)
    return Evidence(
        verdict="agrees" if worst <= allowed else "contradicts",
        measured=f"{last}; {worst:.1f} standard errors off at most",
        false_alarm=LEVEL,
        numbers={
            "samples": samples,
            "n": list(NUMBERS),
            "counts": {str(d): [m.value for m in counts[d]] for d in DIMENSIONS},
            "errors": {str(d): [m.error for m in counts[d]] for d in DIMENSIONS},
            "expected": {str(d): expected[d] for d in DIMENSIONS},
            "sigmas": worst,
            "allowed": allowed,
        },
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the counts against n, with the curve of the lemma."""
    from parkade.plots import style

    numbers = evidence.numbers
    ax = figure.subplots()
    n = np.unique(np.geomspace(NUMBERS[0], NUMBERS[-1], 200).astype(int))
    for (d, delta), color in zip(
        DIMENSIONS.items(), (style.BLUE, style.VERMILLION, style.GREEN), strict=True
    ):
        curve = [theory.expected_strong_centers(delta, d, int(k)) for k in n]
        ax.plot(n, curve, color=color, linewidth=1)
        ax.errorbar(
            NUMBERS, numbers["counts"][str(d)], [5 * e for e in numbers["errors"][str(d)]],
            fmt="o", color=color, markersize=3, label=f"d = {d}, δ = {delta:g}",
        )  # fmt: skip
    ax.set(xscale="log", xlabel="tokens n", ylabel="strong Rényi centres")
    ax.set_title("Lines: Lemma C.1. Dots: measured, with bars of five standard errors.")
    ax.legend()


CLAIM = Claim(
    name="lemma-c.1",
    title="The expected number of strong Rényi centres, for n tokens",
    paper=CAUSAL_CLUSTERING,
    status="lemma",
    prediction=", ".join(
        f"{float(theory.expected_strong_centers(delta, d, NUMBERS[-1])):.2f} (d={d})"
        for d, delta in DIMENSIONS.items()
    ),
    measure=measure,
    draw=draw,
)
