"""Sample times that are dense enough to draw the paths of a run faithfully."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from parkade.analysis.travel import way
from parkade.base.chunks import chunks
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.plots import style
from parkade.runs.path import Path, need_path

STEP = 0.04
"""How far the fastest token moves between two samples, in radians."""

MOST = 2500
"""The maximum number of samples of a run: 100 radians of the fastest token."""


def need_dimension(
    run: Path, plot: str, d: int, *, or_more: bool = False, instead: str | None = None
) -> None:
    """Raise unless `run` is a path in dimension `d`; the error names a plot to use `instead`."""
    actual = need_path(run, f"plots.{plot}").d
    if actual == d or (or_more and actual > d):
        return
    if instead is None:
        plots = {2: "plots.circle or plots.angles", 3: "plots.sphere"}
        instead = plots.get(actual, "plots.principal_axes")
    expected = f"d ≥ {d}" if or_more else f"d={d}"
    raise InputError(f"plots.{plot} needs tokens in {expected}, got d={actual}; use {instead}")


def path_times(run: Path) -> Array:
    """Times between which no token moves farther than about `STEP`.

    Equal steps in time or log time either miss the fast moves of a long run or waste points
    where nothing moves. A run that never stops rotating is followed for `MOST` samples, so the
    last time may be before the end. For a run without dense output these are the saved times.
    """
    if run.dense is None:
        return np.unique(run.times)
    length = way(run)
    count = int(np.ceil(length[-1] / STEP)) + 1
    marks = np.arange(min(count, MOST)) * STEP
    times = np.interp(marks, length, run.times)
    # Include the end, which tokens at rest do not reach by distance.
    return np.unique(times if count > MOST else np.append(times, run.times[-1]))


def positions(run: Path, times: Array, axes: Array) -> Array:
    """Tokens at `times` along the columns of `axes`, (m, n, k)."""
    _, n, d = run.tokens.shape
    result = np.empty((len(times), n, axes.shape[1]))
    # Interpolation copies several arrays of all tokens for each time.
    for piece in chunks(len(times), 4 * n * d):
        result[piece] = run.at(times[piece]) @ axes
    return result


def say_how_far(ax: Axes, run: Path, times: Array) -> None:
    """Write into a corner where the lines end, if that is before the end of the run."""
    if times[-1] < run.times[-1]:
        ax.text(
            0.99, 0.01, f"paths to t = {style.number(float(times[-1]))}",
            ha="right", va="bottom", fontsize=6, color=style.GREY, transform=ax.transAxes,
        )  # fmt: skip


def start(run: Path) -> tuple[float, Array] | None:
    """The first saved time of a run and its tokens, or None if only the end was saved."""
    return (float(run.times[0]), run.tokens[0]) if run.times[0] < run.times[-1] else None
