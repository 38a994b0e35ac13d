"""Conjecture for 2 ≤ dim L < d: all tokens end at the first one's projection on L.

Unlike for dim L = 1 (see `two_points`), no Q and K hold a token elsewhere. If the earlier tokens
are at p and x is at rest, w_1 Vp + w_2 Vx = μx. Unless x = p, either x = −p, or x has a component
in L^⊥ with an eigenvalue λ' < λ, and μ = w_2 λ'. In a direction of L orthogonal to p the weights
do not help, and x leaves at the rate w_1 λ or w_2 (λ − λ').
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade import theory
from parkade.analysis.ending import WITHIN
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.ends import follow, orthonormal, random_attention
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import least_success
from parkade.model import sphere
from parkade.model.attention import Attention

DIMENSIONS = (3, 4, 8)
BETAS = (1.0, 4.0, 16.0)
TOKENS = 12

T = 1e100
"""Two tokens at opposite points of L may wait for e^{2β‖KᵀQ‖}, about 1e55 for β = 16."""


def value_matrix(d: int, rng: np.random.Generator) -> Array:
    """A matrix with eigenvalue 1, 2 to d−1 times, and others between −1 and 0.9."""
    dim = int(rng.integers(2, d))
    spectrum = np.concatenate([np.ones(dim), rng.uniform(-1, 0.9, d - dim)])
    basis = orthonormal(d, rng)
    return basis @ np.diag(spectrum) @ basis.T


def measure(setup: Setup) -> Evidence:
    """Follow tokens for random V, Q and K, and see which are not at the predicted point."""
    runs = setup.choose(10, 60)
    count = {"reached": 0, "stable elsewhere": 0, "moving": 0, "unfinished": 0}
    exceptions: list[dict[str, Any]] = []
    paths: dict[int, list[tuple[Array, Array]]] = {d: [] for d in DIMENSIONS}
    for i, d in enumerate(DIMENSIONS):
        rng = setup.generator(d)
        for run in setup.part(i, len(DIMENSIONS)).each(range(runs)):
            V = value_matrix(d, rng)
            Q, K = random_attention(d, rng)
            beta = BETAS[run % len(BETAS)]
            start = sphere.uniform(TOKENS, d, rng)
            points = theory.final_configuration(V).limit(start[0])[:1]
            end = follow(Attention(beta=beta, Q=Q, K=K, V=V), start, points, T)
            count[end.kind] += 1
            paths[d].append(end.path)
            if end.kind != "reached":
                exceptions.append(
                    {"d": d, "beta": beta, "run": run, "end": end.kind, "off": end.off,
                     "rate": end.rate, "eigenvalues": np.linalg.eigvalsh(V)[::-1].tolist()}
                )  # fmt: skip
    total = runs * len(DIMENSIONS)
    others = count["stable elsewhere"] + count["moving"]
    finished = total - count["unfinished"]
    enough = finished >= 0.9 * total
    return Evidence(
        verdict="contradicts" if others else "agrees" if enough else "undecided",
        measured=f"{count['reached']}/{total} runs; {others} elsewhere, "
        f"{count['unfinished']} unfinished at t={T:.0e}",
        false_alarm=0.0,
        numbers={
            "runs": total,
            "ends": count,
            "within": WITHIN,
            "t": T,
            "least success": least_success(count["reached"]) if finished and not others else 0.0,
            "exceptions": exceptions,
        },
        data={"paths": paths},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw how far from the predicted point the farthest token of each run is, over time."""
    from parkade.plots import style

    ax = figure.subplots()
    colors = (style.BLUE, style.VERMILLION, style.GREEN)
    for (d, paths), color in zip(evidence.data["paths"].items(), colors, strict=True):
        for i, (t, off) in enumerate(paths):
            label = f"d = {d}" if i == 0 else None
            ax.plot(t, np.maximum(off, 1e-17), color=color, linewidth=0.6, alpha=0.7, label=label)
    ax.axhline(WITHIN, color=style.GREY, linewidth=0.8, linestyle="dashed")
    ax.annotate("below: reached", (T, WITHIN), (0, 3), textcoords="offset points", ha="right")
    ax.set(xscale="log", yscale="log", xlim=(1, T), ylim=(1e-17, 10), xlabel="t")
    ax.set(ylabel="distance of the farthest token")
    ax.set_title(
        f"From the projection of x₁(0) on L: random V with 2 ≤ dim L < d, random Q and K, "
        f"{TOKENS} tokens"
    )
    ax.legend(loc="upper right")


CLAIM = Claim(
    name="plane",
    title="λ > 0, 2 ≤ dim L < d: tokens end at the projection of x₁(0) on L",
    paper=CAUSAL_CLUSTERING,
    status="conjecture",
    prediction="every run ends there",
    measure=measure,
    draw=draw,
)
