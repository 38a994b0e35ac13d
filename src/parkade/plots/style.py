"""The style of figures, new figures, and how to save them."""

from __future__ import annotations

import io
import math
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from parkade.base import forks
from parkade.base.errors import InputError
from parkade.base.files import atomic_write
from parkade.base.types import Array

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
BLACK, GREY, PALE = "#000000", "#8A8A8A", "#D9D9D9"
TOKEN, FINAL, START, FIRST = BLUE, VERMILLION, GREY, BLACK

FORECAST: dict[str, Any] = {"color": "#E69F00", "linestyle": (0, (3, 2)), "linewidth": 1.3}
"""The line of a forecast: seen on top of a blue one in every kind of colour vision."""

COLUMN, PAGE = 3.4, 7.0
"""Widths of a column and a page of a paper, in inches."""

RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same figure everywhere
    "mathtext.fontset": "dejavusans",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handletextpad": 0.3,
    "legend.columnspacing": 1.2,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,  # embed TrueType fonts, so that text in a PDF stays text
    "svg.hashsalt": "parkade",  # the same figure gives the same file
}

# Metadata to omit, so that the same figure gives the same file.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
_PNG_DPI = 200

# matplotlib's rc_context changes global settings: two threads in it at once would overwrite
# each other's.
_LOCK = threading.RLock()
forks.wait_for(_LOCK)


@contextmanager
def context() -> Iterator[None]:
    """Use parkade's style inside the block or the decorated function only."""
    with _LOCK, mpl.rc_context(RC):
        yield


class _NotebookFigure(Figure):
    """A Figure that notebooks can display without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with context():
            self.savefig(buffer, format="png", dpi=_PNG_DPI)
        return buffer.getvalue()


@context()
def new_figure(width: float = COLUMN, height: float = COLUMN) -> Figure:
    """An empty figure of this size in inches, independent of pyplot.

    Examples
    --------
    >>> from parkade import plots
    >>> left, right = plots.new_figure(6.0, 3.0).subplots(1, 2)  # for plots.circle(run, ax=left), …
    """
    figure = _NotebookFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def sequence(count: int) -> list[Any]:
    """Colours for an ordered series, dark to light, safe for colour-blind readers."""
    return [mpl.colormaps["viridis"](0.9 * i / max(1, count - 1)) for i in range(count)]


def axes(ax: Axes | None, width: float = COLUMN, height: float = COLUMN) -> Axes:
    """`ax`, or the axes of a new figure if it is None."""
    if ax is None:
        return new_figure(width, height).add_subplot()
    if not isinstance(ax, Axes):
        raise InputError(f"ax must be a matplotlib Axes, got {type(ax).__name__}; leave it out")
    if ax.name != "rectilinear":
        raise InputError(
            f"ax must be ordinary 2-D axes, got the projection {ax.name!r}; make axes without one"
        )
    return ax


def dots(
    ax: Axes,
    points: Array,
    size: float,
    color: str,
    *,
    hollow: float = 0.0,
    **options: Any,
) -> None:
    """Draw the first two columns of `points`, filled, or `hollow` with lines of this width."""
    face = "none" if hollow else color
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=size,
        facecolors=face,
        edgecolors=color,
        linewidths=hollow,
        **options,
    )


def mark_first(ax: Axes, token: Array, zorder: float = 7) -> None:
    """Put a diamond around the first token, (d,) with two or more coordinates."""
    dots(ax, token[None], 40, FIRST, hollow=0.9, marker="D", zorder=zorder, label="first token")


def number(value: float) -> str:
    """A number as text for a figure: 5000, 0.25, 10⁶⁰."""
    if value == 0 or 1e-4 < abs(value) < 1e5:
        return f"{float(f'{value:.4g}'):g}".replace("-", "−")  # 20000, not 2e+04
    mantissa, exponent = f"{value:.2e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    lead = f"{float(mantissa):g}"
    return f"${power}$" if math.isclose(float(mantissa), 1) else rf"${lead}\times{power}$"


def plain(text: str) -> str:
    """Text as it is, for a figure: matplotlib would take what is between two $ for a formula."""
    return text.replace("$", r"\$")


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write `figure` to a .png (200 dpi), .pdf or .svg file, atomically, and close it.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> from parkade import plots
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plots.save(plots.new_figure(), f"{folder}/figure.pdf").name
    'figure.pdf'
    """
    if not isinstance(figure, Figure):
        raise InputError(
            f"plots.save needs a matplotlib Figure, got {type(figure).__name__}; "
            "for Axes pass ax.figure"
        )
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        allowed = ", ".join(f".{name}" for name in _METADATA)
        raise InputError(f"cannot write {target}: the file name must end in one of {allowed}")
    # In memory first: Matplotlib's PDF backend hides disk errors behind its own.
    drawn = io.BytesIO()
    with context():
        figure.savefig(drawn, format=kind, dpi=_PNG_DPI, metadata=_METADATA[kind])
    with atomic_write(target) as file:
        file.write(drawn.getbuffer())
    # pyplot keeps figures alive that the user made with it.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    return target
