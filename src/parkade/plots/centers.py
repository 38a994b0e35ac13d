"""The Rényi and strong Rényi centres of the start, at a later time."""

from __future__ import annotations

from matplotlib.axes import Axes

from parkade.analysis.centers import KINDS
from parkade.plots import sampling, style
from parkade.plots.circles import draw_circle, time_of
from parkade.runs.path import Path


@style.context()
def centers(run: Path, delta: float, t: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the tokens of a run in d=2, with the centres of its start marked.

    Strong Rényi centres are red, other Rényi centres black, at their positions at time t.

    Parameters
    ----------
    run : Path
        Must include its start.
    delta : float
        Separation of the centres, an angle: cβ^{-1/2}.
    t : float, optional
        The time to show; the end of the run by default.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure, with a legend, by default.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> run = pk.simulate(pk.Attention(d=2, beta=64), pk.sphere.uniform(50, 2, seed=1), 20.0)
    >>> ax = plots.centers(run, delta=0.5, t=5.0)
    """
    sampling.need_dimension(run, "centers", 2)
    tokens, start = run.at(time_of(run, t)), run.at(0.0)
    own, ax = ax is None, style.axes(ax)
    draw_circle(ax, 1.2)
    style.dots(ax, tokens, 12, style.TOKEN, alpha=0.5, zorder=3, label="tokens")
    # Both kinds lie outside the circle, so that tokens do not hide them.
    weak, strong = (KINDS[name](start, delta) for name in ("renyi", "strong"))
    style.dots(ax, 1.1 * tokens[weak], 16, style.BLACK, zorder=4, label="Rényi centres")
    style.dots(ax, 1.1 * tokens[strong], 16, style.FINAL, zorder=5, label="strong Rényi centres")
    if own:
        ax.legend(loc="center")
    return ax
