"""Figure 1: where tokens on the sphere end, for one value matrix per row of Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parkade import sphere, theory
from parkade.attention import Attention
from parkade.flow import simulate
from parkade.paper.item import Item
from parkade.parking import renyi_centers
from parkade.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BETA, N, T = 9.0, 32, 5000.0

APART = 0.05
"""Final tokens closer than this angle count as one point."""


@dataclass(frozen=True)
class Panel:
    """A value matrix, and how it is written."""

    value: str
    V: Sequence[float] | Sequence[Sequence[float]]


PANELS = (
    Panel("V = I", [1, 1, 1]),
    Panel("V = diag(1, 1, −1)", [1, 1, -1]),
    Panel("V = diag(1, ½, ¼)", [1, 0.5, 0.25]),
    Panel("V = diag(−1, −1, −2)", [-1, -1, -2]),
    Panel("V = diag(−1, −2, −2)", [-1, -2, -2]),
    Panel("V with eigenvalues 1 ± i, 0", [[1, -1, 0], [1, 1, 0], [0, 0, 0]]),
)

_PLACES = {
    "one point": " of L",
    "two points": " ±ξ",
    "cloud": " around L",
    "two clouds": " around ±ξ",
    "rotation": " in L",
    "outside": "",
}


def make(output: Path, seed: int) -> list[Path]:
    """Simulate every panel from the same random start and write fig1.png and fig1.pdf."""
    from parkade import plots
    from parkade.plots import style

    start = sphere.uniform(N, 3, seed=seed)
    figure = plots.new_figure(style.PAGE, 5.9)
    with style.context():
        for panel, ax in zip(PANELS, figure.subplots(2, 3).flat, strict=True):
            run = simulate(Attention(V=panel.V, beta=BETA), start, T)
            draw(panel, run, ax)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=len(labels),
            title="Hollow: behind the sphere. "
            f"Tokens closer than {APART:g} rad count as one point. "
            "L: eigenspace of the largest real part, ±ξ if it is a line.",
            title_fontsize=6.5,
        )
        figure.suptitle(f"Tokens on S², K = Q = I, β = {BETA:g}, n = {N}, to t = {T:g}")
    return [plots.save(figure, output / f"fig1.{kind}") for kind in ("png", "pdf")]


def draw(panel: Panel, run: Trajectory, ax: Axes) -> None:
    """Draw one panel: the run, the leading eigenspace L, what is expected and what is seen."""
    from parkade import plots
    from parkade.plots import ball, style

    plots.sphere(run, ax=ax)
    final = theory.final_configuration(panel.V)
    view = ball.camera(ball.AZIMUTH, ball.ELEVATION)
    if final.dim == 2:
        turn = sphere.from_angles(np.linspace(0, 2 * np.pi, 121))
        equator = turn @ final.basis.T
        ball.draw_lines(ax, [equator @ view], style.GREEN, 0.9, style_="dashed", zorder=2)
        ax.plot([], [], color=style.GREEN, linewidth=0.9, linestyle="dashed", label="L")
    elif final.dim == 1:
        ends = np.array([final.basis[:, 0], -final.basis[:, 0]]) @ view
        ax.plot(ends[:, 0], ends[:, 1], "x", color=style.GREEN, markersize=8, zorder=2.4)
    expected = final.kind + _PLACES[final.kind]
    if final.status == "theorem":
        expected = "one point, x₁(0), for t → ∞"
    count = len(renyi_centers(run.final, APART))
    seen = f"{count} point{'s' * (count != 1)}"
    if final.dim < 3:
        degrees = np.degrees(final.angles(run.final).max())
        seen += f", within {degrees:.0f}° of L" if degrees > 0.1 else " in L"
    ax.set_title(f"{panel.value}\nexpected: {expected}\nseen: {seen}", linespacing=1.35)


ITEM = Item("fig1", "Figure 1: trajectories on S² for every row of Table 1", make)
