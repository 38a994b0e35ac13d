"""Clusters of tokens, when they merge, and which tokens are consumed by centres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.analysis.tree import Merge, MergeTree
from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.model.sphere import angles, distance
from parkade.runs.path import Path, need_path

__all__ = ["cluster_labels", "consumption", "default_forming", "default_radius", "merge_tree"]

_FORMING = 10.0  # clusters form within about this time, if V = I
_WIDEST = 0.1  # the largest default radius of a cluster
_CHUNK = 2**21  # numbers of interpolated tokens held in memory at once


def cluster_labels(tokens: ArrayLike, radius: float) -> NDArray[np.int64]:
    """Clusters of tokens linked by distances of at most `radius` (single linkage).

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
    Takes a time of order n log n on the circle, and otherwise at most n², less if clusters
    are large.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.cluster_labels(pk.sphere.from_angles([3.1, 0.0, -3.1, 0.1]), 0.2).tolist()
    [0, 1, 0, 1]
    """
    x = check.tokens(tokens)
    r = _radius(radius)
    n, d = x.shape
    if r >= math.pi:
        return np.zeros(n, dtype=np.int64)
    if d > 2:
        from parkade.engine import neighbours

        found: NDArray[np.int64] = neighbours.components(x, r)
        return found
    order = np.argsort(angles(x), kind="stable")
    ring = x[order]
    # Whether the previous token on the circle (across ±π for the first) is too far away.
    opens = distance(ring, np.roll(ring, 1, axis=0)) > r
    if not opens.any():
        return np.zeros(n, dtype=np.int64)
    arc = np.cumsum(opens)
    arc[arc == 0] = arc[-1]  # tokens before the first gap continue the last arc
    first = np.full(arc[-1] + 1, n)
    np.minimum.at(first, arc, order)
    labels = np.empty(n, dtype=np.int64)
    labels[order] = first[arc]
    return labels


def default_radius(model: Model | None = None) -> float:
    """The default radius of clusters in `merge_tree`; 0.1 without a model.

    Attraction decreases by a factor e^{-1/2} over the distance (β‖KᵀQ‖)^{-1/2}, with the
    spectral norm: the shortest range in any direction. The radius is a tenth of it. That is
    deep inside the range of every cluster, where tokens approach exponentially within a time
    of order one, so the radius hardly affects late events. It is at most 0.1.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.clusters.default_radius(pk.Attention(d=2, beta=64.0))
    0.0125
    """
    return _WIDEST / math.sqrt(max(1.0, 0.0 if model is None else model.sharpness))


def default_forming(path: Path) -> float:
    """The time in which clusters form: 10/‖V‖, or the second time of a path without a model."""
    if path.model is not None:
        return _FORMING / (path.model.rate or 1.0)
    later = path.times[path.times > max(0.0, float(path.times[0]))]
    return float(later[0]) if later.size else 0.0


def merge_tree(
    run: Path,
    radius: float | None = None,
    persistence: float = 2.0,
    *,
    halvings: int = 30,
    forming: float | None = None,
) -> MergeTree:
    """Which clusters merge, and when, over a whole run.

    A token is *alone* while it is farther than `radius` from every earlier token. It leads a
    cluster until it *arrives*, at the end of its last long period alone. So the number of
    clusters can only decrease. The first token never arrives.

    A period alone counts as long in three cases: it begins at the start of the run, it extends
    from t to `persistence`·t or later, or the token does not return to the one it left before
    `persistence` times the end of the period. Shorter periods do not count because of what
    happens in a merge: the tokens of a cluster follow their leader with a delay, and are
    farther than `radius` from it for a time of order one. If their returns counted as arrivals,
    old followers would become clusters.

    Parameters
    ----------
    run : Path
        A run or any other path. With dense output (``times="steps"``) arrivals are found
        between steps. Otherwise they are the first saved times after the arrival.
    radius : float, optional
        An angle in (0, π); `default_radius` of the model by default.
    persistence : float
        Factor in time, > 1, over which a state or a period alone must last to count as long.
    halvings : int
        How often the step in which a token arrives is bisected to find the time: 30 give nine
        digits. They are most of the work.
    forming : float, optional
        The time in which clusters form: a plateau is counted only after it. 10/‖V‖ by
        default, or the second time of a path without a model.

    Returns
    -------
    MergeTree

    Notes
    -----
    Under the causal mask earlier tokens do not depend on later ones, so the earliest token of
    a cluster leads it. Under the full mask there are no leaders. The same definition, by the
    order of the tokens, still counts clusters and finds the times at which they merge.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 1e9, method="implicit")
    >>> tree = pk.clusters.merge_tree(run)
    >>> len(tree.events), tree.count(1e9), tree.leaders(1e9).tolist()
    (39, 1, [0])
    """
    from parkade.engine import neighbours

    need_path(run, "merge_tree")
    r = default_radius(run.model) if radius is None else check.positive("radius", radius)
    if r >= math.pi:
        raise InputError(f"radius must be an angle below π, got {r:g}; try radius=0.1")
    factor = check.number("persistence", persistence)
    if factor <= 1:
        raise InputError(f"persistence must be > 1, got {factor:g}; 2 is the default")
    halvings = check.positive_int("halvings", halvings)
    settled = default_forming(run) if forming is None else check.number("forming", forming)
    tokens = np.ascontiguousarray(run.tokens)
    chord = (2 * math.sin(r / 2)) ** 2
    last = neighbours.last_alone(run.times, tokens, chord, factor)
    joined = np.flatnonzero(last < len(run.times) - 1)
    when, nearest = _arrivals(run, joined, last[joined], chord, halvings)

    # Huge times may be equal: sort by step, then time, then index.
    order = np.lexsort((joined, when, last[joined]))
    leader = np.arange(len(last))
    size = np.ones(len(last), dtype=np.int64)
    events = []
    for j, t, near in zip(joined[order], when[order], nearest[order], strict=True):
        into = near
        while leader[into] != into:
            into = leader[into]
        leader[j] = into
        size[into] += size[j]
        events.append(Merge(time=float(t), absorbed=int(j), into=int(into), size=int(size[j])))
    return MergeTree(
        n=len(last),
        start=float(run.times[0]),
        end=float(run.times[-1]),
        radius=r,
        persistence=factor,
        events=tuple(events),
        trusted_until=run.trusted_until,
        kept=None if run.dense is not None else tuple(run.times.tolist()),
        forming=settled,
    )


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
        The times to use; the times of the run by default.

    Returns
    -------
    (T,) array of numbers from 0 to 1.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.from_angles([0.0, 0.2, 2.0])
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 20.0)
    >>> pk.clusters.consumption(run, [0], 0.1, times=[0.0, 20.0]).round(3).tolist()
    [0.333, 0.667]
    """
    from parkade.engine import neighbours

    need_path(run, "consumption")
    n = run.tokens.shape[1]
    who = np.asarray(centers)
    if who.ndim != 1 or (who.size and who.dtype.kind not in "iu"):
        raise InputError(
            f"centers must be a list of token indices, got shape {who.shape} of {who.dtype}; "
            "pass the result of parkade.renyi_centers"
        )
    who = who.astype(np.int64)
    if who.size and not 0 <= who.min() <= who.max() < n:
        wrong = who[(who < 0) | (who >= n)][0]
        raise InputError(f"centers must be token indices from 0 to {n - 1}, got {wrong}")
    r = _radius(radius)
    if times is None:
        counts = neighbours.count_near(np.ascontiguousarray(run.tokens), who, r)
    else:
        wanted = np.atleast_1d(check.array("times", times))
        if wanted.ndim != 1:
            raise InputError(f"times must be a 1-D array, got shape {wanted.shape}")
        some = max(1, _CHUNK // run.tokens[0].size)
        pieces = [wanted[i : i + some] for i in range(0, wanted.size, some)]
        counts = np.concatenate(
            [np.empty(0), *(neighbours.count_near(run.at(t), who, r) for t in pieces)]
        )
    share: Array = counts / n
    return share


def _arrivals(
    run: Path,
    token: NDArray[np.int64],
    last: NDArray[np.int64],
    chord: float,
    halvings: int,
) -> tuple[Array, NDArray[np.int64]]:
    """When each `token` arrives, given the index at which it is `last` alone, and the nearest."""
    from parkade.engine import neighbours

    when = run.times[last + 1]  # index 0 for tokens that are never alone
    nearest = np.empty(len(token), dtype=np.int64)
    some = max(1, _CHUNK // run.tokens[0].size)
    for begin in range(0, len(token), some):
        piece = slice(begin, begin + some)
        x = np.ascontiguousarray(run.tokens[last[piece] + 1])
        nearest[piece], _ = neighbours.nearest_earlier(x, token[piece])
    if run.dense is None:
        return when, nearest

    before = run.times[np.maximum(last, 0)].copy()
    for _ in range(halvings):
        # Geometric mean: steps may be long compared with t.
        middle = np.where(before > 0, np.sqrt(before) * np.sqrt(when), when / 2)
        # A time that is stored twice has two states: only look strictly between times.
        between = np.flatnonzero((before < middle) & (middle < when))
        if not between.size:
            break
        for begin in range(0, len(between), some):
            i = between[begin : begin + some]
            near, square = neighbours.nearest_earlier(run.at(middle[i]), token[i])
            there = square <= chord
            when[i[there]] = middle[i[there]]
            nearest[i[there]] = near[there]
            before[i[~there]] = middle[i[~there]]
    return when, nearest


def _radius(value: Any) -> float:
    r = check.number("radius", value)
    if not 0 <= r <= math.pi:
        raise InputError(f"radius must be an angle from 0 to π, got {r:g}")
    return r
