"""Conjecture for dim L = 1: tokens end at the two points ±ξ. It depends on Q and K.

With Q = K = I it holds in every run. With other Q and K it can fail: a token x that rests
away from ±ξ satisfies w_1 Vξ + w_2 Vx = μx, and because its weights w depend on its position,
this point can be stable. `counterexample` has two such tokens and can be checked by hand. (A
leading eigenspace of more dimensions has a direction orthogonal to both tokens, along which
such a point is always unstable: see `one_point`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from parkade import theory
from parkade.analysis.ending import WITHIN, rests, return_rate
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.counterexample import counterexample, draw_counterexample
from parkade.experiments.claims.common.ends import follow, orthonormal, random_attention
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import least_success
from parkade.model import sphere
from parkade.model.attention import Attention

DIMENSIONS = (2, 3, 8)
BETAS = (1.0, 4.0, 16.0)
TOKENS = 12

T = 1e5
"""Many times what tokens need, because other eigenvalues are at least 0.1 below the largest."""

FAMILIES = {
    "identity": "Q = K = I",
    "random": "random Q, K",
    "skew": "random Q, K, V not normal",
}
"""The conjecture covers all of them because only V should matter; the paper shows the first."""


def value_matrix(d: int, family: str, rng: np.random.Generator) -> Array:
    """Distinct positive eigenvalues, the largest 1, in a random basis."""
    spectrum = np.concatenate([[1.0], rng.uniform(0.05, 0.9, d - 1)])
    basis = orthonormal(d, rng)
    if family == "skew":
        basis = basis @ np.triu(0.5 * rng.standard_normal((d, d)), 1) + basis
    return basis @ np.diag(spectrum) @ np.linalg.inv(basis)


def measure(families: Sequence[str], setup: Setup) -> Evidence:
    """Follow tokens for random V, and see which are not at ±ξ in the end."""
    runs = setup.choose(8, 30)
    count = {family: {"reached": 0, "stable elsewhere": 0, "moving": 0, "unfinished": 0}
             for family in families}  # fmt: skip
    both = dict.fromkeys(families, 0)
    exceptions: list[dict[str, Any]] = []
    off: dict[str, list[float]] = {family: [] for family in families}
    cases = [(family, d) for family in families for d in DIMENSIONS]
    for i, (family, d) in enumerate(cases):
        rng = setup.generator(list(FAMILIES).index(family), d)
        for run in setup.part(i, len(cases)).each(range(runs)):
            V = value_matrix(d, family, rng)
            Q, K = random_attention(d, rng) if family != "identity" else (1.0, 1.0)
            beta = BETAS[run % len(BETAS)]
            start = sphere.uniform(TOKENS, d, rng)
            points = theory.final_configuration(V).limit(start[0])
            end = follow(Attention(beta=beta, Q=Q, K=K, V=V), start, points, T)
            count[family][end.kind] += 1
            off[family].append(end.off)
            both[family] += int(np.unique(end.tokens @ points[0] > 0).size == 2)
            if end.kind != "reached":
                exceptions.append(
                    {"family": family, "d": d, "beta": beta, "run": run, "end": end.kind,
                     "off": end.off, "rate": end.rate,
                     "eigenvalues": np.sort(np.linalg.eigvals(V).real)[::-1].tolist()}
                )  # fmt: skip
    each = runs * len(DIMENSIONS)
    reached = [count[family]["reached"] for family in families]
    numbers: dict[str, Any] = {
        "runs of each family": each,
        "ends": count,
        "both signs": both,
        "within": WITHIN,
        "t": T,
        "least success": least_success(len(families) * each) if not exceptions else 0.0,
        "exceptions": exceptions,
    }
    refuted = any(e["end"] in ("stable elsewhere", "moving") for e in exceptions)
    if "random" in families:  # one that can be checked by hand
        model, pair = counterexample()
        refuted = refuted or rests(model, pair)
        numbers["counterexample"] = {
            "angle": 120.0,
            "speed": float(np.abs(model.velocity(pair)).max()),
            "rate": return_rate(model, pair),
        }
    unfinished = any(c["unfinished"] for c in count.values())
    return Evidence(
        verdict="contradicts" if refuted else "undecided" if unfinished else "agrees",
        measured=f"{sum(reached)}/{len(families) * each} runs",
        false_alarm=0.0,
        numbers=numbers,
        data={"off": off},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw why a token can stay away from ±ξ, and how far from ±ξ tokens end."""
    from parkade.plots import style

    off = evidence.data["off"]
    if "random" in off:
        left, right = figure.subplots(1, 2)
        draw_counterexample(left)
    else:
        right = figure.subplots()
    colors = dict(zip(FAMILIES, (style.BLUE, style.VERMILLION, style.GREEN), strict=True))
    for family, values in off.items():
        ordered = np.sort(values)
        share = (np.arange(len(ordered)) + 1) / len(ordered)
        color, label = colors[family], FAMILIES[family]
        right.step(np.maximum(ordered, 1e-17), share, where="post", color=color, label=label)
    right.axvline(WITHIN, color=style.GREY, linewidth=0.6, linestyle="dashed")
    right.set(xscale="log", xlim=(1e-17, 10), ylim=(0, 1.03))
    right.set(xlabel="largest distance of a token from ±ξ", ylabel="share of runs, cumulated")
    right.set_title("Random V with distinct positive eigenvalues")
    right.legend(loc="lower right", frameon=True, framealpha=1, edgecolor="none")


CLAIM = Claim(
    name="line",
    title="λ > 0, dim L = 1, Q = K = I: tokens end at the two points ±ξ",
    paper=CAUSAL_CLUSTERING,
    status="conjecture",
    prediction="every run ends at ±ξ",
    measure=partial(measure, ["identity"]),
    draw=draw,
)
ANY_ATTENTION = Claim(
    name="line-qk",
    title="λ > 0, dim L = 1, any Q and K: tokens end at the two points ±ξ",
    paper=CAUSAL_CLUSTERING,
    status="conjecture",
    prediction="every run ends at ±ξ",
    measure=partial(measure, ["random", "skew"]),
    draw=draw,
)
