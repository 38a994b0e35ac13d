"""The lengths of tokens over time, where the normalisation has them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from parkade.base.errors import InputError
from parkade.plots import style
from parkade.plots.caption import caption
from parkade.runs.path import Path, need_path


@style.context()
def lengths(run: Path, ax: Axes | None = None) -> Axes:
    """Draw the length of every token against time, the first token in black.

    Both axes are logarithmic. With pre-norm and V = I, lengths grow like t.

    Parameters
    ----------
    run : Path
        A path with `radii`, such as a run of a model with ``norm="pre"``.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> model = pk.Transformer([pk.Head(d=2, beta=9.0)], norm="pre")
    >>> run = pk.simulate(model, pk.sphere.uniform(20, 2, seed=1), 1e4)
    >>> plots.lengths(run).get_ylabel()
    'length r'
    """
    run = need_path(run, "lengths")
    if run.radii is None:
        raise InputError(
            "tokens have no lengths in this run; simulate a model with norm='pre' or norm='peri'"
        )
    ax = style.axes(ax, style.PAGE, 2.4)
    later = run.times > 0
    times, radii = run.times[later], run.radii[later]
    # The first token is the widest, and below the others: lengths often are nearly the same.
    ax.plot(times, radii[:, 0], color=style.FIRST, linewidth=2.4, label="first token")
    ax.plot(times, radii[:, 1:], color=style.GREY, linewidth=0.7)
    ax.set(xscale="log", yscale="log", xlabel="time t", ylabel="length r")
    ax.set_xlim(max(times[0], 1e-3 * min(1.0, times[-1])), times[-1])
    ax.set_ylim(0.9 * np.min(radii), 1.3 * np.max(radii))
    ax.legend(loc="upper left")
    ax.set_title(caption(run))
    return ax
