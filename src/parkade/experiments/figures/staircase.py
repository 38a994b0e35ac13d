"""The whole life of the metastable states on the circle, which the paper could not reach."""

from __future__ import annotations

import json

import numpy as np

from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import OURS, Figure, Finding, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate
from parkade.theory.paper import LIFE

_, N, BETA, T_END = LIFE


def measure(setup: Setup) -> Finding:
    """Simulate one random start until all tokens are together."""
    start = sphere.uniform(N, 2, seed=setup.seed)
    run = simulate(Attention(d=2, beta=BETA), start, T_END)
    tree = run.merge_tree()
    gap = float(np.abs(run.final - start[0]).max())
    states = ", ".join(f"{p.clusters} from {p.start:.2g}" for p in tree.plateaus)
    return Finding(
        measured=(
            f"Clusters: {states}. The last merge comes at t = {tree.events[-1].time:.2g}; then all "
            f"tokens are within {gap:.1g} of x_1(0). {run.stats.steps} steps."
        ),
        numbers=json.loads(tree.to_json()),
        data={"run": run, "tree": tree},
        parameters={
            "d": "2", "n": f"{N}", "β": f"{BETA:g}", "Q = K = V": "I", "T": f"{T_END:g}",
            "tol": f"{run.stats.tol:g}", "seed": f"{setup.seed}",
        },
        caption=(
            f"n = {N} tokens on the circle, K = Q = V = I, β = {BETA:g}. Above: the number of "
            "clusters. Below: the angles of the tokens, clusters in the colour of their first "
            "token."
        ),
        texts={"staircase.txt": f"{tree.to_text()}\n"},
    )  # fmt: skip


def draw(finding: Finding, figure: Figure) -> None:
    """Draw the number of clusters above the angles of the tokens."""
    from parkade import plots

    plots.life(finding.data["run"], finding.data["tree"], figure)


EXHIBIT = Exhibit(
    name="staircase",
    title="The life of the clusters, to t = 10⁶⁰",
    paper=OURS,
    statement=(
        "Theorem 4.1: for V = I all tokens end at x_1(0), after a time of at least e^{Ω(√β)}. "
        "The paper's simulations end with the metastable clusters."
    ),
    measure=measure,
    draw=draw,
    height=5.1,
)
