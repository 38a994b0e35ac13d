"""How a layer that is applied again and again ends: clusters, fixed points and orbits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parkade.analysis.clusters import linked
from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.runs.path import Path, need_path

SAME = 1e-6
"""Tokens closer than this angle are at one point."""

ROUNDING = 1e-9
"""States closer than this are the same, up to rounding."""


@dataclass(frozen=True, eq=False)
class Ending:
    """How an iteration ends.

    Attributes
    ----------
    clusters : tuple of int
        Sizes of the clusters in the last state, largest first.
    period : int or None
        After how many steps the state returns: 1 is a fixed point. None if it did not return
        within the path.
    error : float
        How far it is from where it was a period ago, at most; of the best period if none
        is exact.
    since : int or None
        The step from which on the state repeats.
    counts : (T,) int array
        Number of clusters in each state.
    """

    clusters: tuple[int, ...]
    period: int | None
    error: float
    since: int | None
    counts: Array

    @property
    def sentence(self) -> str:
        """The end in a few words."""
        many = f"{len(self.clusters)} cluster{'s' * (len(self.clusters) != 1)}"
        if self.period is None:
            return f"{many}, still moving (best return {self.error:.0e})"
        if self.period == 1:
            return f"{many} at rest from step {self.since}, to {self.error:.0e}"
        return f"{many}, orbit of period {self.period} from step {self.since}, to {self.error:.0e}"


def ending(path: Path, *, radius: float = SAME, tol: float = ROUNDING) -> Ending:
    """The clusters at the end of an iteration, and the period of its limit cycle.

    Parameters
    ----------
    path : Path
        Equal steps of a map, such as `iterate` of a trained model gives.
    radius : float
        Angle below which tokens are linked.
    tol : float
        Largest distance of a token from where it was a period ago.

    Returns
    -------
    Ending
        The period is the smallest one with which all tokens return in each of its steps, so two
        whole periods must fit. Periods of up to a third of the path are looked for.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> from parkade.trained.measures import ending
    >>> turns = 2 * np.pi / 30 * np.arange(200)
    >>> tokens = np.stack([pk.sphere.from_angles([a, a, a + 1]) for a in turns])
    >>> end = ending(pk.Path(range(200), tokens))
    >>> end.period, end.clusters, end.error < 1e-13
    (30, (2, 1), True)
    """
    need_path(path, "ending")
    x = path.tokens
    steps = len(x)
    if steps < 4:
        raise InputError(f"an ending needs at least 4 states, got {steps}; iterate longer")
    radius, tol = check.positive("radius", radius), check.positive("tol", tol)
    counts = np.array([len(np.unique(linked(np.ascontiguousarray(s), radius))) for s in x])
    last = linked(np.ascontiguousarray(x[-1]), radius)
    sizes = tuple(sorted(np.unique(last, return_counts=True)[1].tolist(), reverse=True))
    longest = (steps - 1) // 3
    # First the last state alone, which is quick; then whole periods of those that fit.
    back = _apart(x[-1], x[-longest - 1 : -1])[::-1]
    for period in np.flatnonzero(back <= tol) + 1:
        gaps = _apart(x[period:], x[:-period])
        off = np.flatnonzero(gaps > tol)
        since = 0 if off.size == 0 else int(off[-1]) + 1
        if len(gaps) - since >= period:
            error = float(gaps[-period:].max())
            return Ending(sizes, int(period), error, since, counts)
    return Ending(sizes, None, float(back.min()), None, counts)


def _apart(a: Array, b: Array) -> Array:
    """The largest distance of a token between states, for each pair of states."""
    pairs = zip(*np.broadcast_arrays(a, b), strict=True)
    return np.array([np.linalg.norm(one - other, axis=-1).max() for one, other in pairs])
