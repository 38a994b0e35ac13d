"""The whole life of the metastable states on the circle, which the paper could not reach."""

from __future__ import annotations

from pathlib import Path

from parkade import sphere
from parkade.attention import Attention
from parkade.flow import simulate
from parkade.paper.item import Item

BETA, N, T_END = 64.0, 200, 1e60


def make(output: Path, seed: int) -> list[Path]:
    """Simulate one random start to the end; write staircase.png, .pdf and the timeline."""
    from parkade import plots
    from parkade.files import atomic_write

    run = simulate(Attention(d=2, beta=BETA), sphere.uniform(N, 2, seed=seed), T_END)
    tree = run.merge_tree()
    text = output / "staircase.txt"
    with atomic_write(text) as file:
        file.write(f"{tree.to_text()}\n".encode())
    figure = plots.life(run, tree)
    return [*(plots.save(figure, output / f"staircase.{kind}") for kind in ("png", "pdf")), text]


ITEM = Item("staircase", "The life of the clusters to t = 1e60: staircase and timeline", make)
