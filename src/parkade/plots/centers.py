"""The Rényi and strong Rényi centres of the start, at a later time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from parkade.analysis.centers import KINDS
from parkade.base import check
from parkade.plots import style
from parkade.plots.circles import need_circle
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

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> run = pk.simulate(pk.Attention(d=2, beta=64), pk.sphere.uniform(50, 2, seed=1), 20.0)
    >>> ax = plots.centers(run, delta=0.5, t=5.0)
    """
    need_circle(run, "centers")
    when = float(run.times[-1]) if t is None else check.number("t", t)
    tokens, start = run.at(when), run.at(0.0)
    own, ax = ax is None, style.axes(ax)
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.PALE, linewidth=0.8, zorder=1))
    style.dots(ax, tokens, 12, style.TOKEN, alpha=0.5, zorder=3, label="tokens")
    # Both kinds lie outside the circle, so that tokens do not hide them.
    weak, strong = (KINDS[name](start, delta) for name in ("renyi", "strong"))
    style.dots(ax, 1.1 * tokens[weak], 16, style.BLACK, zorder=4, label="Rényi centres")
    style.dots(ax, 1.1 * tokens[strong], 16, style.FINAL, zorder=5, label="strong Rényi centres")
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")
    ax.set_axis_off()
    if own:
        ax.legend(loc="center")
    return ax
