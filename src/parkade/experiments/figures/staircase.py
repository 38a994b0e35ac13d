"""The whole life of the metastable states on the circle, which the paper could not reach."""

from __future__ import annotations

import json

import numpy as np

from parkade.base.files import atomic_write
from parkade.experiments.figures.item import Item, Job, Made
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate
from parkade.theory.paper import LIFE

_, N, BETA, T_END = LIFE


def make(job: Job) -> Made:
    """Simulate one random start to the end; draw its life and write its timeline."""
    from parkade import plots

    start = sphere.uniform(N, 2, seed=job.seed)
    run = simulate(Attention(d=2, beta=BETA), start, T_END)
    tree = run.merge_tree()
    text = job.output / "staircase.txt"
    with atomic_write(text) as file:
        file.write(f"{tree.to_text()}\n".encode())
    caption = (
        f"n = {N} tokens on the circle, K = Q = V = I, β = {BETA:g}. Above: the number of "
        "clusters. Below: the angles of the tokens, clusters in the colour of their first token."
    )
    gap = float(np.abs(run.final - start[0]).max())
    states = ", ".join(f"{p.clusters} from {p.start:.2g}" for p in tree.plateaus)
    return Made(
        parameters={
            "d": "2", "n": f"{N}", "β": f"{BETA:g}", "Q = K = V": "I", "T": f"{T_END:g}",
            "tol": f"{run.stats.tol:g}", "seed": f"{job.seed}",
        },
        measured=(
            f"Clusters: {states}. The last merge comes at t = {tree.events[-1].time:.2g}; then all "
            f"tokens are within {gap:.1g} of x_1(0). {run.stats.steps} steps."
        ),
        pictures=[job.save(plots.life(run, tree), "staircase", caption)],
        files=[text],
        numbers=json.loads(tree.to_json()),
    )  # fmt: skip


ITEM = Item(
    name="staircase",
    title="The life of the clusters, to t = 10⁶⁰",
    statement=(
        "Theorem 4.1: for V = I all tokens end at x_1(0), after a time of at least e^{Ω(√β)}. "
        "The paper's simulations end with the metastable clusters."
    ),
    make=make,
)
