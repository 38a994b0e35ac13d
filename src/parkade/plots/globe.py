"""Tokens on the sphere S², d=3, in an orthographic projection.

It does not use matplotlib's 3-D axes, which neither hide what is behind the sphere nor write
clean vector files.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from parkade.base import check
from parkade.base.types import Array
from parkade.plots import sampling, style
from parkade.plots.circles import MANY_VERTICES
from parkade.runs.path import Path

AZIMUTH, ELEVATION = 35.0, 22.0
_BACK = 0.3  # opacity of what is behind, relative to what is in front


@style.context()
def sphere(
    run: Path,
    ax: Axes | None = None,
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
) -> Axes:
    """Draw the paths of the tokens of a run in d=3 on the sphere.

    Starts are small dots, final positions red. Lines behind the sphere are fainter, and final
    positions there are rings. The first token has a black line and a diamond. A run that
    never stops rotating is drawn only for its first 100 radians, with a note.

    Parameters
    ----------
    run : Path
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure, with a legend, by default.
    azimuth, elevation : float
        The viewing direction in degrees: from the x axis towards y, and up towards z.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> x0 = pk.sphere.uniform(32, 3, seed=1)
    >>> run = pk.simulate(pk.Attention(d=3, beta=9.0), x0, 20.0)
    >>> ax = plots.sphere(run, azimuth=30.0)
    """
    sampling.need_dimension(run, "sphere", 3)
    view = camera(azimuth, elevation)
    own, ax = ax is None, style.axes(ax, style.COLUMN, 3.7)
    _draw_ball(ax, view)

    times = sampling.path_times(run)
    paths = sampling.positions(run, times, view)  # (m, n, 3): right, up, towards the viewer
    many = paths.shape[0] * paths.shape[1] > MANY_VERTICES
    others = list(paths[:, 1:].swapaxes(0, 1))
    draw_lines(ax, others, alpha=0.7, colors=style.TOKEN, linewidths=0.6, rasterized=many)
    draw_lines(ax, [paths[:, 0]], colors=style.FIRST, linewidths=0.9)
    begin = sampling.start(run)
    if begin is not None:
        draw_points(ax, begin[1] @ view, style.START, 4, f"t = {style.number(begin[0])}")
    if len(run.frozen):
        draw_points(ax, run.frozen @ view, style.GREEN, 16, "frozen", marker="s")
    final = run.final @ view
    when = style.number(float(run.times[-1]))
    draw_points(ax, final, style.FINAL, 18, f"t = {when}", zorder=6)
    style.mark_first(ax, final[0])
    sampling.say_how_far(ax, run, times)
    if own:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4)
    return ax


def camera(azimuth: float, elevation: float) -> Array:
    """Columns: the directions to the right, up, and towards the viewer, (3, 3)."""
    a = math.radians(check.number("azimuth", azimuth))
    e = math.radians(check.number("elevation", elevation))
    right = [-math.sin(a), math.cos(a), 0.0]
    up = [-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)]
    towards = [math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)]
    return np.array([right, up, towards]).T


def hemispheres(path: Array) -> tuple[list[Array], list[Array]]:
    """Cut a line, (m, 3) in the camera's frame, into the pieces in front and behind.

    Neighbouring pieces share the point where the line crosses the horizon.
    """
    front = path[:, 2] >= 0
    cuts = np.flatnonzero(front[1:] != front[:-1]) + 1
    before, after = path[cuts - 1], path[cuts]
    share = before[:, 2:] / (before[:, 2:] - after[:, 2:])
    crossing = before + share * (after - before)
    pieces = np.split(path[:, :2], cuts)
    for i, point in enumerate(crossing[:, :2]):
        pieces[i] = np.vstack([pieces[i], point])
        pieces[i + 1] = np.vstack([point, pieces[i + 1]])
    seen, hidden = pieces[::2], pieces[1::2]
    return (seen, hidden) if front[0] else (hidden, seen)


def draw_lines(
    ax: Axes, paths: list[Array], *, alpha: float = 1.0, zorder: float = 3, **look: Any
) -> None:
    """Draw lines in the camera's frame, fainter where they are behind.

    `look` is passed on to `LineCollection`.
    """
    halves = [hemispheres(path) for path in paths]
    seen = [piece for front, _ in halves for piece in front]
    hidden = [piece for _, back in halves for piece in back]
    for pieces, opacity, order in ((hidden, alpha * _BACK, zorder - 1), (seen, alpha, zorder)):
        ax.add_collection(
            LineCollection(
                pieces, alpha=opacity, zorder=order, capstyle="round", **look
            ),
            autolim=False,
        )  # fmt: skip


def draw_points(
    ax: Axes,
    points: Array,
    color: str,
    size: float,
    label: str,
    *,
    marker: str = "o",
    zorder: float = 5,
) -> None:
    """Draw points in the camera's frame, hollow where they are behind."""
    front = points[:, 2] >= 0
    behind = points[~front]
    style.dots(ax, behind, size, color, hollow=0.6, alpha=0.8, marker=marker, zorder=2.5)
    style.dots(ax, points[front], size, color, marker=marker, zorder=zorder, label=label)


def _draw_ball(ax: Axes, view: Array) -> None:
    """Draw the sphere itself: its outline, and meridians and parallels every 30°."""
    ax.add_patch(Circle((0, 0), 1, facecolor="#FAFAFA", edgecolor="none", zorder=0))
    turn = np.linspace(0, 2 * math.pi, 121)
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=1)
    lines = []
    for longitude in np.radians(np.arange(0, 180, 30)):
        across = np.array([math.cos(longitude), math.sin(longitude), 0])
        lines.append(circle[:, :1] * across + circle[:, 1:2] * [0, 0, 1])
    latitudes = np.radians(np.arange(-60, 61, 30))
    lines += [math.cos(e) * circle + [0, 0, math.sin(e)] for e in latitudes]
    draw_lines(ax, [line @ view for line in lines], zorder=1, colors=style.PALE, linewidths=0.4)
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.GREY, linewidth=0.6, zorder=1))
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
    ax.set_axis_off()
