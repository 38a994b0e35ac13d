"""Settings to start from: the figures of the paper, and runs beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parkade.explorer.settings.settings import Settings
from parkade.theory import paper


class Preset(NamedTuple):
    """Settings that the menu of the page offers under a name."""

    name: str
    title: str
    about: str
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """What the page reads, ready for JSON."""
        return {**self._asdict(), "settings": self.settings.to_dict()}


_ABOUT = {
    "V = I": "All tokens end where the first one started, after clusters that last long.",
    "V = diag(1, 1, −1)": "Tokens fall into the plane of two leading directions and meet there.",
    "V = diag(1, ½, ¼)": "One direction leads: tokens go to its two ends.",
    "V = diag(−1, −1, −2)": "Values that repel: a cloud around a plane, which never rests.",
    "V = diag(−1, −2, −2)": "Values that repel: two clouds around the ends of a line.",
    "V with eigenvalues 1 ± i, 0": "A complex pair leads: one cluster, which keeps turning.",
}


def _of(figure: paper.Parameters) -> dict[str, Any]:
    """The settings of a figure."""
    return {"n": figure.n, "d": figure.d, "beta": figure.beta, "T": figure.t_end}


def presets() -> list[Preset]:
    """All presets, in the order of the menu."""
    return list(_presets())


def _presets() -> Iterator[Preset]:
    for i, (title, V) in enumerate(paper.PANELS.items(), start=1):
        chosen = Settings(**_of(paper.FIGURE_1), V=_text(V))
        yield Preset(f"fig1-{i}", f"Figure 1: {title}", _ABOUT[title], chosen)
    yield Preset(
        "fig2",
        "Figure 2: centres on the circle",
        "Tokens gather around Rényi centres; the strong ones hardly move.",
        Settings(**_of(paper.FIGURE_2)),
    )
    yield Preset(
        "life",
        "The whole life, to t = 10⁶⁰",
        "Clusters merge one by one, over fifty decades of time, until one is left.",
        Settings(**_of(paper.LIFE)),
    )
    yield Preset(
        "frozen",
        "Frozen centres",
        "Strong Rényi centres are held where they are, and capture the others (Theorem 5.2).",
        Settings(**{**_of(paper.FIGURE_2), "T": 1e4}, frozen="strong"),
    )
    yield Preset(
        "full",
        "Full attention",
        "Every token attends to every token: clusters have no leader, and all of them drift.",
        Settings(mask="full"),
    )
    yield Preset(
        "high",
        "Eight dimensions, three of them leading",
        "Tokens first fall into the leading directions of V, then cluster there.",
        Settings(n=48, d=8, beta=16.0, V="1,1,1,0.5,0.5,0.5,0.5,0.5", T=1e4),
    )
    yield Preset(
        "pre-norm",
        "Pre-norm: a slower life",
        "Tokens grow longer, and so slower: only the logarithm of time counts, and plateaus last.",
        Settings(**_of(paper.LIFE), norm="pre"),
    )
    yield Preset(
        "heads",
        "Eight heads",
        "Each head sees two random directions and pulls from farther away: fewer clusters last.",
        Settings(n=64, beta=25.0, T=1e4, heads=8, rank=2),
    )
    yield Preset(
        "growth",
        "β grows with depth",
        "Attention sharpens faster than clusters meet: some of them never merge.",
        Settings(n=100, d=2, beta=4.0, growth=3.0, T=1e20),
    )
    yield Preset(
        "window",
        "A window of 16 tokens",
        "Tokens see only the last 16: new leaders arise along the sequence, and more of them last.",
        Settings(**{**_of(paper.FIGURE_2), "T": 1e4}, mask="window"),
    )


def _text(V: ArrayLike) -> str:
    """A diagonal or a matrix as a user would type it."""
    rows = np.atleast_2d(V)
    if len(rows) == 1 and (rows == 1).all():
        return "I"
    return ";".join(",".join(f"{entry:g}" for entry in row) for row in rows)
