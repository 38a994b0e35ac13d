"""Theorem 4.1: if V = I, all tokens end at x_1(0), whatever Q, K and β."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade import theory
from parkade.analysis.ending import rests
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.ends import random_attention
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import least_success
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

DIMENSIONS = (2, 3, 8)
BETAS = (1.0, 4.0, 16.0)
TOKENS = 16

T = 1e100
"""The last token may wait for e^{2β‖KᵀQ‖}, about 1e55 for β = 16."""

NEAR, AT = 1e-3, 1e-10
"""Distances from x_1(0): `NEAR` for measuring how long it takes, `AT` for having arrived."""


def measure(setup: Setup) -> Evidence:
    """Follow tokens for random Q and K until all are at x_1(0)."""
    runs = setup.choose(9, 60)
    exceptions: list[dict[str, Any]] = []
    waits: dict[float, list[float]] = {beta: [] for beta in BETAS}
    worst = 0.0
    for i, d in enumerate(DIMENSIONS):
        rng = setup.generator(d)
        for run in setup.part(i, len(DIMENSIONS)).each(range(runs)):
            beta = BETAS[run % len(BETAS)]
            Q, K = random_attention(d, rng)
            model, start = Attention(beta=beta, Q=Q, K=K), sphere.uniform(TOKENS, d, rng)
            path = simulate(model, start, T)
            point = theory.final_configuration(model.V).limit(start[0])[0]
            off = sphere.distance(path.tokens, point).max(axis=1)
            worst = max(worst, float(off[-1]))
            if off[-1] <= AT:
                away = np.flatnonzero(off > NEAR)
                waits[beta].append(float(path.times[away[-1] + 1]))
            else:
                last = np.flatnonzero(sphere.distance(path.final, point) > AT)
                # A token at an unstable equilibrium, or still on its way, is no counterexample.
                exceptions.append(
                    {"d": d, "beta": beta, "run": run, "tokens": last.tolist(),
                     "stable": rests(model, path.final),
                     "distances": sphere.distance(path.final[last], point).tolist()}
                )  # fmt: skip
    total = runs * len(DIMENSIONS)
    reached = total - len(exceptions)
    stable = any(e["stable"] for e in exceptions)
    slowest = max((t for ts in waits.values() for t in ts), default=T)
    return Evidence(
        verdict="contradicts" if stable else "undecided" if exceptions else "agrees",
        measured=f"{reached}/{total} runs, the slowest at t ≈ {slowest:.0e}; {worst:.0e} off",
        false_alarm=0.0,
        numbers={
            "runs": total,
            "reached": reached,
            "worst distance": worst,
            "t": T,
            "times to be within 1e-3": {f"{beta:g}": sorted(ts) for beta, ts in waits.items()},
            "least success": 0.0 if exceptions else least_success(total),
            "exceptions": exceptions,
        },
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the times after which all tokens were near x_1(0)."""
    from parkade.plots import style

    ax = figure.subplots()
    colors = (style.BLUE, style.GREEN, style.VERMILLION)
    waits = evidence.numbers["times to be within 1e-3"]
    for (beta, ts), color in zip(waits.items(), colors, strict=True):
        share = (np.arange(len(ts)) + 1) / max(len(ts), 1)
        ax.plot(ts, share, "o-", color=color, linewidth=0.8, markersize=3, label=f"β = {beta}")
    ax.set(xscale="log", ylim=(0, 1.05))
    ax.set(xlabel="time t after which every token is within 10⁻³ of x₁(0)")
    ax.set(ylabel="share of runs, cumulated")
    dimensions = ", ".join(map(str, DIMENSIONS))
    ax.set_title(f"V = I, random Q and K, {TOKENS} tokens, d = {dimensions}")
    ax.legend()


CLAIM = Claim(
    name="theorem-4.1",
    title="V = I: every token ends at x₁(0), for any Q, K and β",
    paper=CAUSAL_CLUSTERING,
    status="theorem",
    prediction="every run ends at x₁(0), up to 1e-10",
    measure=measure,
    draw=draw,
)
