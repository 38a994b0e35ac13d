"""Tokens on the circle, d=2: their positions, and their angles against time."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from parkade.base import check
from parkade.base.types import Array
from parkade.model import sphere
from parkade.plots import sampling, style
from parkade.runs.path import Path

LONG = 1000.0
"""Longer runs get a logarithmic time axis."""

MANY_VERTICES = 200_000
"""Lines with more vertices are stored as pixels even in a vector file."""

_GRID = 300  # samples along the time axis, besides those along the paths
_FEW = 60  # without dense output, at most this many times are shown as dots


@style.context()
def circle(run: Path, t: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the tokens of a run in d=2 on the unit circle.

    Parameters
    ----------
    run : Path
    t : float, optional
        The time to show; the end of the run by default.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure, with a legend, by default.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> run = pk.simulate(pk.Attention(d=2, beta=64), pk.sphere.uniform(50, 2, seed=1), 20.0)
    >>> plots.save(plots.circle(run, t=5.0).figure, "circle.pdf")  # doctest: +SKIP
    """
    sampling.need_dimension(run, "circle", 2)
    when = time_of(run, t)
    tokens = run.at(when)
    own, ax = ax is None, style.axes(ax)
    draw_circle(ax, 1.12)
    begin = sampling.start(run)
    if begin is not None and begin[0] != when:
        label = f"t = {style.number(begin[0])}"
        style.dots(ax, begin[1], 5, style.START, alpha=0.55, zorder=2, label=label)
    if len(run.frozen):
        style.dots(ax, run.frozen, 16, style.GREEN, marker="s", zorder=3, label="frozen")
    label = f"t = {style.number(when)}"
    style.dots(ax, tokens, 16, style.TOKEN, alpha=0.8, zorder=4, label=label)
    style.mark_first(ax, tokens[0])
    if own:
        ax.legend(loc="center")
    return ax


@style.context()
def angles(run: Path, ax: Axes | None = None) -> Axes:
    """Draw the angle of every token of a run in d=2 against time.

    The time axis is logarithmic (and linear before t=1, to include zero) if the run goes
    beyond t=1000. Lines are cut where they cross ±π.

    Parameters
    ----------
    run : Path
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 100.0)
    >>> plots.angles(run).get_ylabel()
    'angle φ'
    """
    sampling.need_dimension(run, "angles", 2)
    own, ax = ax is None, style.axes(ax, style.COLUMN, 2.6)
    times = sampling.path_times(run)
    first, last = float(times[0]), float(times[-1])
    log = last > LONG and last > first
    # Before drawing: the margins of autoscaling overflow near t=1e300.
    if last > first:
        ax.set_xlim(first, last)
    else:
        ax.set_xticks([last])
    if run.dense is not None:
        times = np.union1d(times, _grid(first, last, log))
    phi = sphere.angles(sampling.positions(run, times, np.eye(2)))  # (m, n)

    for angle in sphere.angles(run.frozen) if len(run.frozen) else ():
        ax.axhline(angle, color=style.GREEN, linewidth=0.8, linestyle=":")
    many = phi.size > MANY_VERTICES
    rest = [piece for line in phi.T[1:] for piece in unbroken(times, line)]
    ax.add_collection(
        LineCollection(rest, colors=style.TOKEN, linewidths=0.6, alpha=0.55, rasterized=many)
    )
    leader = unbroken(times, phi[:, 0])
    ax.add_collection(
        LineCollection(leader, colors=style.FIRST, linewidths=1.3, label="first token", zorder=3)
    )
    if run.dense is None and len(times) <= _FEW:
        points = np.column_stack([np.repeat(times, phi.shape[1]), phi.ravel()])
        style.dots(ax, points, 5, style.TOKEN, alpha=0.7)

    if log:
        ax.set_xscale("symlog", linthresh=1.0)
        powers = _decades(last)
        ax.set_xticks([0.0, *(10.0**k for k in powers)], ["0", *(f"$10^{{{k}}}$" for k in powers)])
        ax.set_xticks([], minor=True)
    ax.set_xlabel("time t")
    label_angles(ax)
    if own:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1)
    return ax


def time_of(run: Path, t: float | None) -> float:
    """The time to show: t, or the end of the run."""
    return float(run.times[-1]) if t is None else check.number("t", t)


def draw_circle(ax: Axes, limit: float) -> None:
    """Draw the unit circle, on axes without lines that show coordinates up to `limit`."""
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.PALE, linewidth=0.8, zorder=1))
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.set_axis_off()


def label_angles(ax: Axes) -> None:
    """Make the vertical axis one of angles from −π to π."""
    ax.set_ylim(-math.pi, math.pi)
    ax.set_yticks(
        [-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi], ["−π", "−π/2", "0", "π/2", "π"]
    )
    ax.set_ylabel("angle φ")


def unbroken(times: Array, phi: Array) -> list[Array]:
    """The line of angle against time in pieces, (m_i, 2) each, cut where it crosses ±π."""
    cuts = np.flatnonzero(np.abs(np.diff(phi)) > math.pi) + 1
    return np.split(np.column_stack([times, phi]), cuts)


def _decades(last: float) -> list[int]:
    """Powers of ten to label up to `last`, few enough that the labels do not overlap."""
    top = math.floor(math.log10(last))
    stride = next(s for s in (1, 2, 5, 10, 20, 50) if top <= 7 * s)
    # With a stride, 10⁰ is too close to zero.
    return list(range(0 if stride == 1 else stride, top + 1, stride))


def _grid(first: float, last: float, log: bool) -> Array:
    """Times spread evenly along the time axis."""
    if not log:
        return np.linspace(first, last, _GRID)
    low = max(first, 1.0)
    grid = np.concatenate([np.linspace(first, low, 30), np.geomspace(low, last, _GRID)])
    inside: Array = np.clip(grid, first, last)  # geomspace may overshoot by rounding
    return inside
