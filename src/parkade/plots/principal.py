"""Tokens in any dimension, projected on the two directions of largest variance."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from parkade.base.types import Array
from parkade.plots import sampling, style
from parkade.plots.circles import MANY_VERTICES
from parkade.runs.path import Path

# Directions with less variance are ignored: the tokens agree to about 1e-4.
_NOTHING = 1e-8


@style.context()
def principal_axes(run: Path, ax: Axes | None = None) -> Axes:
    """Draw the tokens of a run in d ≥ 3 on the two leading principal axes of the final tokens.

    If the final tokens span no plane, because they are at one or two points, the axes are
    those of the start and the end together. The labels say which.

    Parameters
    ----------
    run : Path
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure, with a legend, by default.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> x0 = pk.sphere.uniform(40, 5, seed=1)
    >>> run = pk.simulate(pk.Attention(V=[1, 1, 1, 0, 0], beta=9.0), x0, 20.0)
    >>> plots.principal_axes(run).get_xlabel()
    'principal axis 1 (70 %)'
    """
    sampling.need_dimension(run, "principal_axes", 3, or_more=True)
    own, ax = ax is None, style.axes(ax, style.COLUMN, 3.6)
    begin = sampling.start(run)
    axes, shares, variance = principal(run.final)
    of = ""
    if begin is not None and variance[1] < _NOTHING:
        axes, shares, _ = principal(np.concatenate([begin[1], run.final]))
        of = " of start and end"

    times = sampling.path_times(run)
    paths = sampling.positions(run, times, axes)  # (m, n, 2)
    many = paths.shape[0] * paths.shape[1] > MANY_VERTICES
    ax.add_collection(
        LineCollection(
            list(paths[:, 1:].swapaxes(0, 1)), colors=style.TOKEN, linewidths=0.6, alpha=0.35,
            rasterized=many, zorder=2,
        )
    )  # fmt: skip
    ax.add_collection(LineCollection([paths[:, 0]], colors=style.FIRST, linewidths=0.9, zorder=3))
    if begin is not None:
        label = f"t = {style.number(begin[0])}"
        style.dots(ax, begin[1] @ axes, 5, style.START, zorder=3, label=label)
    if len(run.frozen):
        style.dots(ax, run.frozen @ axes, 16, style.GREEN, marker="s", zorder=4, label="frozen")
    final = run.final @ axes
    label = f"t = {style.number(float(run.times[-1]))}"
    style.dots(ax, final, 18, style.FINAL, zorder=5, label=label)
    style.mark_first(ax, final[0])
    ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])
    ax.set_xlabel(f"principal axis 1{of} ({100 * shares[0]:.0f} %)")
    ax.set_ylabel(f"principal axis 2{of} ({100 * shares[1]:.0f} %)")
    sampling.say_how_far(ax, run, times)
    if own:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return ax


def principal(points: Array) -> tuple[Array, Array, Array]:
    """Principal axes of points about their mean.

    Returns
    -------
    axes : (d, 2) array
        The two leading axes. The largest entry of each is positive, to fix the sign.
    shares, variance : (2,) arrays
        Their fractions of the total variance (0 if there is none), and their variances.
    """
    centred = points - points.mean(axis=0)
    # Pad with a zero row so that a single point has two axes as well.
    short = max(0, 2 - len(points))
    _, size, rows = np.linalg.svd(np.pad(centred, ((0, short), (0, 0))), full_matrices=False)
    axes = rows[:2].T
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    variance = size**2 / len(points)
    whole = variance.sum()
    shares = variance[:2] / whole if whole > 0 else np.zeros(2)
    return axes * np.where(largest < 0, -1.0, 1.0), shares, variance[:2]
