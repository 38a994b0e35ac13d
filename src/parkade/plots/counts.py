"""The number of clusters at one moment against the radius within which tokens are linked."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from parkade.analysis import clusters
from parkade.base.numbers import counted
from parkade.plots import style
from parkade.plots.caption import caption
from parkade.runs.path import Path, need_path

_LEAST = 1e-3  # no smaller radius is drawn unless the default is smaller


@style.context()
def count_by_radius(run: Path, ax: Axes | None = None, *, t: float | None = None) -> Axes:
    """Draw the number of clusters by links at time t against the radius.

    A wide step is a number of groups that one sees in the picture; a slope has no groups of one
    size. A dashed line is at the default radius, `clusters.default_radius`.

    Parameters
    ----------
    run : Path
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    t : float, optional
        The time; the end of the run by default.

    Returns
    -------
    matplotlib Axes
        Both axes are logarithmic.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), pk.sphere.uniform(40, 2, seed=3), 20.0)
    >>> ax = plots.count_by_radius(run)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['4 clusters within 0.0333, the default']
    """
    path = need_path(run, "plots.count_by_radius")
    tokens = path.at(path.times[-1] if t is None else t)
    usual = clusters.default_radius(path.model)
    ax = style.axes(ax, style.PAGE, 2.6)
    least = min(_LEAST, usual / 3)
    steps = clusters.count_by_radius(tokens).radii
    radii = np.array([least, *steps[steps > least], math.pi])
    ax.step(radii, clusters.count_by_radius(tokens, radii).counts, where="post", color=style.BLUE)
    number = clusters.count_by_radius(tokens, usual).counts[0]
    label = f"{counted(number, 'cluster')} within {usual:.3g}, the default"
    ax.axvline(usual, color=style.GREY, linestyle="dashed", linewidth=0.9, label=label)
    ax.set(xscale="log", yscale="log", xlabel="radius", ylabel="clusters by links")
    ax.set_xlim(least, math.pi)
    ax.set_ylim(0.8, 1.3 * path.n)
    ax.legend(loc="lower left")
    ax.set_title(caption(path))
    return ax
