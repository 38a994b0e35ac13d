"""The number of clusters over all decades of time: the staircase, simulated and forecast."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from parkade.analysis import clusters
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.plots import style, time_axis
from parkade.runs.path import Path
from parkade.theory.merge_tree import MergeTree


@style.context()
def staircase(
    run: Path | MergeTree, ax: Axes | None = None, *, forecast: MergeTree | None = None
) -> Axes:
    """Draw the number of clusters against time, with its plateaus.

    Parameters
    ----------
    run : Path or MergeTree
        A run, or a merge tree made with a custom radius.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    forecast : MergeTree, optional
        What was forecast, as `theory.forecast` returns it: a dashed line.

    Returns
    -------
    matplotlib Axes
        Plateaus are shaded and labelled. If space is short, the longest ones (in decades) get
        labels first. The steep beginning may lie above the axes. The vertical axis names the
        radius of the merge tree.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.plots import staircase
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 1e9)
    >>> ax = staircase(run, forecast=pk.theory.forecast(x0, 9.0))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['simulated', 'forecast from the start']
    """
    tree = tree_of(run, "staircase")
    ax = style.axes(ax, style.PAGE, 2.8)
    left = time_axis.begin(ax, tree)
    shown = [p for p in tree.plateaus if p.end > left]
    top = 1.45 * shown[0].clusters + 1 if shown else 1.05 * tree.n
    for i, plateau in enumerate(shown):
        ax.fill_between(
            [max(plateau.start, left), plateau.end],
            plateau.clusters,
            color=style.BLUE,
            alpha=(0.16, 0.08)[i % 2],
            linewidth=0,
        )
    wide = 1.5 if forecast is None else 2.6  # a dashed line on top must not hide it
    seen = _steps(tree, left, tree.end)
    ax.step(*seen, where="post", color=style.BLUE, linewidth=wide, label="simulated")
    if forecast is not None:
        _draw_forecast(ax, forecast, left, tree.end)
    ax.set_ylim(0, top)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    ax.set_ylabel(f"clusters (radius {tree.radius:.2g})")
    time_axis.label_plateaus(ax, shown, left, tree.end, top)
    time_axis.shade_untrusted(ax, tree)
    return ax


def _draw_forecast(ax: Axes, forecast: MergeTree, left: float, end: float) -> None:
    """Draw a forecast on top of what was seen, and say above the axes which is which."""
    if not isinstance(forecast, MergeTree):
        raise InputError(
            f"forecast must be a merge tree, got {type(forecast).__name__}; pass the result of "
            "parkade.theory.forecast"
        )
    steps = _steps(forecast, left, end)
    ax.step(*steps, where="post", label="forecast from the start", **style.FORECAST)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2)


def _steps(tree: MergeTree, left: float, end: float) -> tuple[Array, NDArray[np.int64]]:
    """The times in [left, end] at which the number of clusters changes, and the new numbers."""
    arrivals = np.sort(tree.arrivals)
    times = np.unique([left, *arrivals[(arrivals > left) & (arrivals < end)], end])
    return times, tree.n - np.searchsorted(arrivals, times, side="right")


def tree_of(run: Any, plot: str) -> MergeTree:
    """The merge tree of a run, or `run` itself if it is one; `plot` is named in errors."""
    tree = run if isinstance(run, MergeTree) else None
    if isinstance(run, Path):
        tree = clusters.merge_tree(run)
    if tree is None:
        raise InputError(
            f"plots.{plot} needs a run, got {type(run).__name__}; "
            "pass the result of parkade.simulate"
        )
    if not tree.start < tree.end:
        raise InputError(
            f"plots.{plot} needs a run with several times, got t={tree.end:g} only; "
            "simulate with times='steps'"
        )
    return tree
