"""Clusters of tokens, and which tokens are consumed by centres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.analysis.agreement import Agreement, agreement, forecast_of
from parkade.analysis.linkage import RadiusCounts, around, count_by_radius
from parkade.analysis.merging import default_forming, default_radius, merge_tree
from parkade.base import check
from parkade.base.chunks import chunks
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.sphere import distance
from parkade.runs.path import Path, need_path

# The names of `pk.clusters`; `cluster_labels` and `consumption` are `pk.cluster_labels` and
# `pk.consumption`.
__all__ = [
    "Agreement",
    "RadiusCounts",
    "agreement",
    "count_by_radius",
    "default_forming",
    "default_radius",
    "forecast_of",
    "merge_tree",
]


def cluster_labels(tokens: ArrayLike, radius: float) -> NDArray[np.int64]:
    """Clusters by links: tokens linked by distances of at most `radius` (single linkage).

    They describe one moment, whatever happened before. Clusters by leaders, which `merge_tree`
    follows over a run, are defined differently: a token that has met an earlier one no longer
    leads a cluster, even if the two separate again. `count_by_radius` shows how the number of
    clusters by links depends on the radius.

    Parameters
    ----------
    tokens : (n, d) array
        Unit vectors.
    radius : float
        Largest geodesic distance (an angle, 0 to π) between two linked tokens.

    Returns
    -------
    (n,) int array
        For each token, the index of the earliest token of its cluster.

    Notes
    -----
    Takes time of order n log n on the circle, and otherwise at most n², less if clusters are
    large. Distances below 1e-162 count as 0, since their squares do. On the circle only
    neighbours in the order of angles are compared, so that for a radius below 1e-15 rounding may
    keep different tokens apart; equal ones are always linked.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.cluster_labels(pk.sphere.from_angles([3.1, 0.0, -3.1, 0.1]), 0.2).tolist()
    [0, 1, 0, 1]
    """
    return linked(check.tokens(tokens), _radius(radius))


def linked(x: Array, r: float) -> NDArray[np.int64]:
    """`cluster_labels` of unit vectors, (n, d), or of several states, (T, n, d)."""
    n, d = x.shape[-2:]
    if r >= math.pi:
        return np.zeros(x.shape[:-1], dtype=np.int64)
    states = x.reshape(-1, n, d)
    labels = np.empty(states.shape[:2], dtype=np.int64)
    if d == 2:
        for piece in chunks(len(labels), n):
            labels[piece] = _linked_on_the_circle(states[piece], r)
    else:
        from parkade.engine.search import neighbours

        for i, state in enumerate(states):
            labels[i] = neighbours.components(np.ascontiguousarray(state), r)
    return labels.reshape(x.shape[:-1])


def _linked_on_the_circle(x: Array, r: float) -> NDArray[np.int64]:
    """`linked` of states on the circle, (T, n, 2): only neighbouring tokens are compared."""
    moments, n = x.shape[:2]
    order, ring = around(x)
    # Whether the previous token on the circle (across ±π for the first) is too far away.
    opens = distance(ring, np.roll(ring, 1, axis=1)) > r
    arc = np.cumsum(opens, axis=1)
    # Tokens before the first gap continue the last arc.
    arc = np.where(arc == 0, arc[:, -1:], arc) + (n + 1) * np.arange(moments)[:, None]
    first = np.full(moments * (n + 1), n)
    np.minimum.at(first, arc, order)
    labels = np.empty((moments, n), dtype=np.int64)
    np.put_along_axis(labels, order, first[arc], axis=1)
    return labels


def consumption(
    run: Path, centers: ArrayLike, radius: float, times: ArrayLike | None = None
) -> Array:
    """The share of tokens consumed by the `centers`, over time.

    A token is consumed while it is within `radius` of the current position of a centre. This
    includes the centres themselves (Karagodin, Polyanskiy, Rigollet 2024, Figure 3).

    Parameters
    ----------
    run : Path
    centers : (m,) int array
        Indices of tokens, for example from `parkade.renyi_centers`.
    radius : float
        Geodesic distance, 0 to π.
    times : (T,) array, optional
        The times of the result; those of the run by default.

    Returns
    -------
    (T,) array of numbers from 0 to 1.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.from_angles([0.0, 0.2, 2.0])
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 20.0)
    >>> pk.consumption(run, [0], 0.1, times=[0.0, 20.0]).round(3).tolist()
    [0.333, 0.667]
    """
    from parkade.engine.search import neighbours

    need_path(run, "consumption")
    n = run.tokens.shape[1]
    index = np.asarray(centers)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise InputError(
            f"centers must be a list of token indices, got shape {index.shape} of {index.dtype}; "
            "pass the result of parkade.renyi_centers"
        )
    index = index.astype(np.int64)
    if index.size and not 0 <= index.min() <= index.max() < n:
        wrong = index[(index < 0) | (index >= n)][0]
        raise InputError(f"centers must be token indices from 0 to {n - 1}, got {wrong}")
    r = _radius(radius)
    if times is None:
        counts = neighbours.count_near(np.ascontiguousarray(run.tokens), index, r)
    else:
        wanted = np.atleast_1d(check.array("times", times))
        if wanted.ndim != 1:
            raise InputError(f"times must be a 1-D array, got shape {wanted.shape}")
        counts = np.empty(wanted.size, dtype=np.int64)
        for piece in chunks(wanted.size, run.tokens[0].size):
            counts[piece] = neighbours.count_near(run.at(wanted[piece]), index, r)
    share: Array = counts / n
    return share


def _radius(value: Any) -> float:
    """`value` as a distance of tokens: an angle from 0 to π."""
    r = check.number("radius", value)
    if not 0 <= r <= math.pi:
        raise InputError(f"radius must be an angle from 0 to π, got {r:g}")
    return r


def __dir__() -> list[str]:
    return __all__
