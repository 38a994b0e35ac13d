"""Figure 2: Rényi and strong Rényi centres on the circle, at increasing times."""

from __future__ import annotations

import numpy as np

from parkade.experiments.claims.common.census import BETA, N
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Finding, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate
from parkade.theory.paper import DELTA
from parkade.theory.parking import renyi_centers, strong_renyi_centers

SNAPSHOTS = (0.0, 2.0, 10.0, 75.0, 150.0, 5000.0)


def measure(setup: Setup) -> Finding:
    """Simulate one random start, and see how far its centres move."""
    start = sphere.uniform(N, 2, setup.seed)
    run = simulate(Attention(d=2, beta=BETA), start, SNAPSHOTS[-1])
    weak, strong = renyi_centers(start, DELTA), strong_renyi_centers(start, DELTA)
    late = run.at(150.0)
    moved = sphere.distance(start, late) * BETA**0.5
    others = np.setdiff1d(weak, strong)
    clusters = run.merge_tree().count(150.0)
    weakest = f", the other Rényi centres by up to {moved[others].max():.2g}" if len(others) else ""
    return Finding(
        measured=(
            f"{len(strong)} strong and {len(weak)} Rényi centres; {clusters} clusters at t = 150. "
            f"By then the strong centres have moved by up to {moved[strong].max():.2g} β^(-1/2)"
            f"{weakest}."
        ),
        numbers={
            "renyi": weak.tolist(),
            "strong": strong.tolist(),
            "clusters at t=150": clusters,
            "moved at t=150, in units of β^{-1/2}": moved[weak].tolist(),
        },
        data={"run": run},
        parameters={
            "d": "2", "n": f"{N}", "β": f"{BETA:g}", "δ": "4β^(-1/2) = 0.5", "Q = K = V": "I",
            "t": ", ".join(f"{t:g}" for t in SNAPSHOTS), "seed": f"{setup.seed}",
        },
        caption=(
            f"n = {N} tokens on the circle, K = Q = V = I, β = {BETA:g}, δ = 4β^(-1/2). "
            "Tokens blue; beside them, outside the circle, the strong Rényi centres of the start "
            "in red and the other Rényi centres in black."
        ),
    )  # fmt: skip


def draw(finding: Finding, figure: Figure) -> None:
    """Draw tokens and centres at each of the times."""
    from parkade import plots
    from parkade.plots import style

    for t, ax in zip(SNAPSHOTS, figure.subplots(2, 3).flat, strict=True):
        plots.centers(finding.data["run"], DELTA, t, ax)
        ax.text(0, 0, f"t = {style.number(t)}", ha="center", va="center", fontsize=9)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


EXHIBIT = Exhibit(
    name="fig2",
    title="Figure 2: centres on the circle",
    paper=CAUSAL_CLUSTERING,
    statement=(
        "Tokens gather around Rényi centres; strong Rényi centres hardly move, Rényi centres "
        "explain more clusters but may drift and merge."
    ),
    measure=measure,
    draw=draw,
    height=5.0,
)
