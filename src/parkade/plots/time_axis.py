"""The logarithmic time axis of a run: ticks, labels of plateaus, and shading of untrusted times."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from parkade.base.numbers import counted
from parkade.plots import style
from parkade.theory.merge_tree import MergeTree, Plateau

_EARLY = 0.1  # start of the time axis; hardly anything happens before
_LABEL = 7.0  # size of the labels of plateaus, in points


def begin(ax: Axes, tree: MergeTree) -> float:
    """Make a logarithmic time axis for the whole run; return where it starts."""
    left = max(tree.start, _EARLY if tree.end > 10 * _EARLY else 1e-3 * tree.end)
    ax.set_xscale("log")
    ax.set_xlim(left, tree.end)
    first, last = math.ceil(math.log10(left)), math.floor(math.log10(tree.end))
    if last - first > 8:
        step = next((s for s in (2, 5, 10, 20) if (last - first) / s <= 8), 50)
        ticks = [10.0**k for k in range(first, last + 1) if k % step == 0]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("time t")
    return left


def label_plateaus(ax: Axes, shown: list[Plateau], left: float, end: float, top: float) -> None:
    """Write each plateau's count and lifetime just above it, where labels do not overlap."""
    point = ax.figure.dpi / 72
    width, height = ax.bbox.width / point, ax.bbox.height / point
    gap = 1.3 * _LABEL * top / height  # a line of text, in clusters
    taken: list[int] = []
    for plateau in sorted(shown, key=lambda p: math.log(p.end / max(p.start, left)), reverse=True):
        count = plateau.clusters
        if any(abs(count - other) < gap for other in taken):
            continue
        taken.append(count)
        full = short = counted(count, "cluster")
        if not plateau.open:
            full += f" for {style.number(float(f'{plateau.lifetime:.1e}'))}"
        elif count > 1:
            full += ", to the end of the run"
        begin = max(plateau.start, left)
        room = width * math.log(end / begin) / math.log(end / left)
        text = full if room > 0.55 * _LABEL * len(full) else short
        fits = room > 0.55 * _LABEL * len(text)
        ax.annotate(
            text,
            (begin if fits else end, count),
            xytext=(3 if fits else -1, 1.5),
            textcoords="offset points",
            ha="left" if fits else "right",
            va="bottom",
            fontsize=_LABEL,
            zorder=5,
        )


def shade_untrusted(ax: Axes, tree: MergeTree) -> None:
    """Shade the part of the run that rounding errors dominate, with a label."""
    shade(ax, tree.trusted_until, tree.end, "not trusted")


def shade(ax: Axes, begin: float, end: float, why: str) -> None:
    """Shade the times after `begin`, with `why` as the label."""
    if begin >= end:
        return
    ax.axvspan(begin, end, facecolor="white", alpha=0.6, zorder=4)
    ax.axvspan(
        begin, end, facecolor="none", edgecolor=style.PALE, hatch="///", linewidth=0, zorder=4,
    )  # fmt: skip
    ax.annotate(
        f"{why} after t = {style.number(begin)}",
        (1, 1), xytext=(-3, -3), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="top", fontsize=_LABEL, color=style.VERMILLION, zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
