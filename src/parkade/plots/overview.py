"""One figure for a run of any dimension, with a caption."""

from __future__ import annotations

from matplotlib.figure import Figure

from parkade.plots import style
from parkade.plots.caption import caption
from parkade.plots.circles import angles, circle
from parkade.plots.globe import sphere
from parkade.plots.history import life
from parkade.plots.principal import principal_axes
from parkade.runs.path import Path, need_path
from parkade.theory.merge_tree import MergeTree

LONG = 1e4
"""Longer runs are shown by the states they pass through."""


@style.context()
def overview(run: Path, *, forecast: MergeTree | None = None) -> Figure:
    """Show a run: the circle and the angles (d=2), the sphere (d=3) or principal axes (d>3).

    A run beyond t = 10⁴ with dense output is shown by its life: the staircase of its
    clusters, and below it the angles (d=2) or the merge tree, over the logarithm of time. So is
    any run with a `forecast`, which is drawn beside the staircase.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> run = pk.simulate(pk.Attention(d=2, beta=64), pk.sphere.uniform(50, 2, seed=1), 20.0)
    >>> len(plots.overview(run).axes)
    2
    """
    need_path(run, "plots.overview")
    if forecast is not None or (run.times[-1] > LONG and run.dense is not None):
        return life(run, forecast=forecast)
    if run.d == 2:
        figure = style.new_figure(style.PAGE, 3.2)
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
        circle(run, ax=left).legend(loc="center")
        angles(run, ax=right)
    else:
        draw = sphere if run.d == 3 else principal_axes
        figure = style.new_figure(4.2, 4.5)
        ax = draw(run, ax=figure.add_subplot())
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(caption(run))
    return figure
