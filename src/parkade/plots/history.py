"""The clusters of a run over all decades of time: which, and where."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from parkade.base.types import Array
from parkade.model import sphere
from parkade.plots import sampling, style, time_axis
from parkade.plots.caption import caption
from parkade.plots.circles import MANY_VERTICES, label_angles, unbroken
from parkade.plots.stairs import staircase, tree_of
from parkade.runs.path import Path
from parkade.theory.merge_tree import MergeTree

PALETTE = (style.VERMILLION, style.BLUE, style.GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#7A5C3E")
"""Colours of leaders after the first token, which is black."""

_GRID = 400  # samples along the time axis, besides those along the paths


@style.context()
def merge_tree(run: Path | MergeTree, ax: Axes | None = None) -> Axes:
    """Draw which clusters merged, from the first plateau on.

    Every line is a cluster, named by its leader. Its width grows with the number of tokens, and
    it ends at the cluster it joins. Lines are ordered so that they do not cross. For a run on
    the circle, a cluster is drawn on the side from which it approached.

    Parameters
    ----------
    run : Path or MergeTree
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> x0 = pk.sphere.uniform(40, 3, seed=3)
    >>> run = pk.simulate(pk.Attention(d=3, beta=9.0), x0, 1e9)
    >>> plots.merge_tree(run).get_xlabel()
    'time t'
    """
    tree = tree_of(run, "merge_tree")
    begin, leaders = _first_state(tree)
    row = {leader: i for i, leader in enumerate(_rows(run, tree))}
    color = _colors(leaders)
    ax = style.axes(ax, style.PAGE, 0.9 + 0.24 * len(leaders))
    left = time_axis.begin(ax, tree)
    begin = max(begin, left)

    def width(size: int) -> float:
        return 0.7 + 2.8 * math.sqrt(size / tree.n)

    since = dict.fromkeys(leaders, begin)
    labels = tree.labels(begin).tolist()
    size = {leader: labels.count(leader) for leader in leaders}
    for event in (e for e in tree.events if e.time > begin):
        lower, upper = sorted((row[event.absorbed], row[event.into]))
        for k in (event.absorbed, event.into):
            ax.hlines(row[k], since[k], event.time, color=color[k], linewidth=width(size[k]))
            since[k] = event.time
        ax.vlines(
            event.time, lower, upper, color=color[event.absorbed], linewidth=width(event.size)
        )
        point = np.array([[event.time, row[event.into]]])
        style.dots(ax, point, 16, color[event.absorbed], zorder=3)
        size[event.into] += size.pop(event.absorbed)
    for k in size:
        ax.hlines(row[k], since[k], tree.end, color=color[k], linewidth=width(size[k]))
    ax.set_yticks(list(row.values()), [str(leader) for leader in row])
    ax.set_ylim(-0.7, len(row) - 0.3)
    ax.set_ylabel("cluster (its first token)")
    ax.tick_params(axis="y", length=0)
    time_axis.shade_untrusted(ax, tree)
    return ax


@style.context()
def angle_life(run: Path, ax: Axes | None = None, tree: MergeTree | None = None) -> Axes:
    """Draw the angles of a run in d=2 against the logarithm of time, leaders in colour.

    Leaders are the earliest tokens of the clusters of the first plateau. A leader's line ends
    where it joins another. Other tokens are thin grey lines. Lines are cut where they cross ±π.

    Parameters
    ----------
    run : Path
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    tree : MergeTree, optional
        The run's merge tree, if made with a custom radius.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 1e9)
    >>> plots.angle_life(run).get_ylabel()
    'angle φ'
    """
    sampling.need_dimension(run, "angle_life", 2, instead="plots.merge_tree")
    life = tree_of(run, "angle_life") if tree is None else tree
    _, leaders = _first_state(life)
    color = _colors(leaders)
    ax = style.axes(ax, style.PAGE, 3.2)
    left = time_axis.begin(ax, life)
    times = sampling.path_times(run)
    if run.dense is not None:
        grid = np.geomspace(left, life.end, _GRID)
        merges = [e.time for e in life.events]
        times = np.union1d(times, [*np.clip(grid, left, life.end), *merges])
    times = times[times >= left]
    phi = sphere.angles(sampling.positions(run, times, np.eye(2)))  # (m, n)

    seen = [e for e in life.events if e.time >= left]
    when = np.searchsorted(times, [e.time for e in seen])
    joined = phi[when, [e.into for e in seen]]
    end = {e.absorbed: (e.time, angle) for e, angle in zip(seen, joined, strict=True)}
    followers = np.setdiff1d(np.arange(life.n), leaders)
    ax.add_collection(
        LineCollection(
            [piece for j in followers for piece in unbroken(times, phi[:, j])],
            colors=style.GREY,
            linewidths=0.35,
            alpha=0.6,
            rasterized=phi.size > MANY_VERTICES,
        )
    )
    for j in leaders:
        line = times[times <= life.arrivals[j]], phi[times <= life.arrivals[j], j]
        if j in end:
            # A token may move far within one float spacing of a huge t: draw the whole move.
            line = np.append(line[0], end[j][0]), np.append(line[1], end[j][1])
        ax.add_collection(
            LineCollection(
                unbroken(*line), colors=color[j], linewidths=1.6, capstyle="round", zorder=3
            )
        )
    label_angles(ax)
    time_axis.shade_untrusted(ax, life)
    time_axis.shade(ax, run.phase_known_until, life.end, "phase unknown")
    return ax


@style.context()
def life(
    run: Path,
    tree: MergeTree | None = None,
    figure: Figure | None = None,
    *,
    forecast: MergeTree | None = None,
) -> Figure:
    """Show the whole life of a run: the staircase above the angles (d=2) or the merge tree.

    Draws into `figure`, or into a new figure. A `forecast` is drawn as in `staircase`.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.plots import life
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 1e9, method="implicit")
    >>> [ax.get_ylabel() for ax in life(run).axes]
    ['clusters (radius 0.033)', 'angle φ']
    """
    known = tree_of(run, "life") if tree is None else tree
    flat = run.d == 2
    rows = 2.6 if flat else 0.9 + 0.24 * len(_first_state(known)[1])
    if figure is None:
        figure = style.new_figure(style.PAGE, 2.5 + rows)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.3, rows])
    staircase(known, ax=above, forecast=forecast)
    if flat:
        angle_life(run, ax=below, tree=known)
    else:
        merge_tree(known, ax=below)
    above.set_xlabel("")
    figure.suptitle(caption(run))
    return figure


def _first_state(tree: MergeTree) -> tuple[float, tuple[int, ...]]:
    """The start of the first plateau and its leaders; the end of the run if there is none."""
    if tree.plateaus:
        return tree.plateaus[0].start, tree.plateaus[0].leaders
    return tree.end, tuple(tree.leaders(tree.end).tolist())


def _colors(leaders: tuple[int, ...]) -> dict[int, str]:
    """A colour for each leader: black for the first token."""
    rest = [leader for leader in leaders if leader != 0]
    return {0: style.FIRST} | {k: PALETTE[i % len(PALETTE)] for i, k in enumerate(rest)}


def _rows(run: Path | MergeTree, tree: MergeTree) -> list[int]:
    """Leaders from bottom to top, ordered so that merging clusters are adjacent."""
    begin, leaders = _first_state(tree)
    block = {leader: [leader] for leader in leaders}
    for event in (e for e in tree.events if e.time > begin):
        own, other = block[event.into], block.pop(event.absorbed)
        below = _from_below(run, event.absorbed, event.into)
        block[event.into] = other + own if below else own + other
    return [leader for rows in block.values() for leader in rows]


def _from_below(run: Path | MergeTree, absorbed: int, into: int) -> bool:
    """Whether a token starts clockwise of the one it joins; False without angles."""
    if not isinstance(run, Path) or run.d != 2:
        return False
    phi: Array = sphere.angles(run.tokens[0, [absorbed, into]])
    return math.remainder(phi[0] - phi[1], 2 * math.pi) < 0
