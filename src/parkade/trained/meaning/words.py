"""Words at the ends of a line, and around a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.trained.block import Floats

ENDS = 8
"""Words at each end of a line."""

SPOKES = 24
"""Words around a plane."""


@dataclass(frozen=True)
class Spoke:
    """A word in a plane.

    Attributes
    ----------
    word : str
    angle : float
        From 0 to 2π; the word with the largest radius is at 0.
    radius : float
        The length of its unit vector in the plane.
    """

    word: str
    angle: float
    radius: float


Ends: TypeAlias = tuple[dict[str, float], dict[str, float]]
"""Words and their cosines, at both ends of a line."""


def ends(rows: Floats, words: Sequence[str], axis: Array, count: int = ENDS) -> Ends:
    """The words farthest along a line (1, d) and against it, with cosines; each word once."""
    places = rows @ axis[0].astype(rows.dtype)
    order = np.argsort(-places, kind="stable")
    return _different(words, order, places, count), _different(words, order[::-1], places, count)


def wheel(rows: Floats, words: Sequence[str], plane: Array, count: int = SPOKES) -> list[Spoke]:
    """The words farthest from the centre of a plane (2, d), by their angle."""
    x, y = (rows @ plane.T.astype(rows.dtype)).astype(np.float64).T
    radius = np.hypot(x, y)
    chosen: dict[str, int] = {}
    for i in np.argsort(-radius, kind="stable"):
        chosen.setdefault(shown(words[i]), int(i))
        if len(chosen) == count:
            break
    angles = np.arctan2(y, x)
    zero = angles[next(iter(chosen.values()))]
    spokes = [
        Spoke(word, float((angles[i] - zero) % math.tau), float(radius[i]))
        for word, i in chosen.items()
    ]
    return sorted(spokes, key=lambda spoke: spoke.angle)


def shown(word: str) -> str:
    r"""A word as tables show it: blanks around it are dropped, and white space has a name.

    Examples
    --------
    >>> [shown(" she"), shown("\n    "), shown(" ")]
    ['she', '⏎4', '␣']
    """
    if word.strip():
        return word.strip()
    lines, last = word.count("\n"), word.rpartition("\n")[2]
    if lines:
        return "⏎" * lines + (str(len(last)) if last else "")
    return "".join("⇥" if c == "\t" else "␣" for c in word[:1]) + (
        str(len(word)) if len(word) > 1 else ""
    )


def _different(
    words: Sequence[str], order: NDArray[np.intp], places: Floats, count: int
) -> dict[str, float]:
    chosen: dict[str, float] = {}
    for i in order:
        chosen.setdefault(shown(words[int(i)]), float(places[i]))
        if len(chosen) == count:
            break
    return chosen
