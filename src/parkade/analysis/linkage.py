"""The number of clusters by links, for any radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.sphere import angles, distance
from parkade.theory.ranges import separations


class RadiusCounts(NamedTuple):
    """The number of clusters for each radius, as `count_by_radius` returns it.

    Examples
    --------
    >>> import parkade as pk
    >>> result = pk.clusters.count_by_radius(pk.sphere.from_angles([0.0, 0.1, 2.0]), [0.05, 1.0])
    >>> result.radii.tolist(), result.counts.tolist()
    ([0.05, 1.0], [3, 2])
    """

    radii: Array
    counts: NDArray[np.int64]


def count_by_radius(tokens: ArrayLike, radii: ArrayLike | None = None) -> RadiusCounts:
    """The number of clusters that `cluster_labels` finds, for each of several radii.

    A count that stays the same over a wide range of radii is a property of the tokens. One that
    changes with the radius is a property of the radius.

    Parameters
    ----------
    tokens : (n, d) array
        Unit vectors.
    radii : (m,) array, optional
        Angles from 0 to π; by default 0 and all radii at which the number decreases.

    Returns
    -------
    RadiusCounts
        Arrays `radii` and `counts`. The number is ``counts[i]`` from ``radii[i]`` up to the next
        default radius, at which rounding decides.

    Notes
    -----
    One minimal spanning tree gives all counts: two clusters become one at the length of its edge
    between them. It takes time of order n log n on the circle, and n² otherwise. Distances
    below 1e-162 count as 0, since their squares do.

    Examples
    --------
    >>> import parkade as pk
    >>> result = pk.clusters.count_by_radius(pk.sphere.from_angles([3.1, 0.0, -3.1, 0.1]))
    >>> result.radii.round(3).tolist(), result.counts.tolist()
    ([0.0, 0.083, 0.1, 3.0], [4, 3, 2, 1])
    """
    lengths = np.sort(_edges(check.tokens(tokens)))
    wanted = (
        np.unique([0.0, *lengths])
        if radii is None
        else np.atleast_1d(separations("radii", radii, above_zero=False))
    )
    if wanted.ndim != 1:
        raise InputError(f"radii must be a list of angles, got shape {wanted.shape}")
    return RadiusCounts(wanted, 1 + len(lengths) - np.searchsorted(lengths, wanted, side="right"))


def around(x: Array) -> tuple[NDArray[np.int64], Array]:
    """The order of tokens around the circle in states (T, n, 2), and the tokens in this order.

    Angles are rounded, so different tokens can have the same one. These are ordered by their
    coordinates, counterclockwise as well, so that equal tokens are neighbours.
    """
    x = x + 0.0  # no −0.0, with which the angle of an equal token is −π instead of π
    phi = angles(x)
    order = np.argsort(phi, axis=1, kind="stable")
    phi, ring = np.take_along_axis(phi, order, axis=1), np.take_along_axis(x, order[..., None], 1)
    same = phi[:, 1:] == phi[:, :-1]
    if same.any() and (same[..., None] & (ring[:, 1:] != ring[:, :-1])).any():
        tied = np.zeros(phi.shape, dtype=bool)
        tied[:, 1:] = same
        tied[:, :-1] |= same
        a, b = ring[tied].T
        state = np.nonzero(tied)[0]
        again = np.lexsort((-b, np.where(b >= 0, -a, a), phi[tied], state))
        order[tied], ring[tied] = order[tied][again], ring[tied][again]
    return order, ring


def _edges(x: Array) -> Array:
    """The lengths of the n−1 edges of a minimal spanning tree."""
    if x.shape[1] == 2:
        ring = around(x[None])[1][0]
        gaps: Array = distance(ring, np.roll(ring, 1, axis=0))
        return np.delete(gaps, gaps.argmax())
    ends = np.zeros((len(x) - 1, 2), dtype=np.int64)
    inside = np.zeros(len(x), dtype=bool)
    nearest, square, last = np.zeros(len(x), dtype=np.int64), np.full(len(x), np.inf), 0
    for i in range(len(ends)):
        inside[last] = True
        others = np.square(x - x[last]).sum(axis=1)
        closer = others < square
        nearest[closer], square[closer] = last, others[closer]
        last = int(np.where(inside, np.inf, square).argmin())
        ends[i] = nearest[last], last
    edges: Array = distance(x[ends[:, 0]], x[ends[:, 1]])
    return edges
