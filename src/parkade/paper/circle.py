"""Metastable clusters on the circle: angles against time, and snapshots."""

from __future__ import annotations

from pathlib import Path

from parkade import sphere
from parkade.attention import Attention
from parkade.flow import simulate
from parkade.paper.item import Item

BETA, N = 64.0, 200
SNAPSHOTS = (0.0, 75.0, 150.0)


def make(output: Path, seed: int) -> list[Path]:
    """Simulate one random start and write circle.png and circle.pdf."""
    from parkade import plots
    from parkade.plots import style

    run = simulate(Attention(d=2, beta=BETA), sphere.uniform(N, 2, seed=seed), SNAPSHOTS[-1])
    figure = plots.new_figure(style.PAGE, 5.0)
    with style.context():
        grid = figure.add_gridspec(2, len(SNAPSHOTS), height_ratios=[1, 1.05])
        plots.angles(run, ax=figure.add_subplot(grid[0, :]))
        for column, t in enumerate(SNAPSHOTS):
            ax = plots.circle(run, t=t, ax=figure.add_subplot(grid[1, column]))
            ax.text(0, 0, f"t = {t:g}", ha="center", va="center")
        handles, labels = ax.get_legend_handles_labels()
        names = {"t = 0": "start", f"t = {SNAPSHOTS[-1]:g}": "tokens"}
        figure.legend(
            handles, [names.get(label, label) for label in labels],
            loc="outside lower center", ncols=len(labels),
        )  # fmt: skip
        figure.suptitle(f"Tokens on the circle, K = Q = V = I, β = {BETA:g}, n = {N}")
    return [plots.save(figure, output / f"circle.{kind}") for kind in ("png", "pdf")]


ITEM = Item("circle", "The circle: clusters that last, before Figure 2's centres", make)
