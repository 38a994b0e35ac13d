"""The merge tree of a path: which clusters merge, and when."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.chunks import chunks
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.runs.path import Path, need_path
from parkade.theory.meeting import FORMING_TIME, cluster_radius, thermal_radius
from parkade.theory.merge_tree import Merge, MergeTree


def default_radius(model: Model | None = None) -> float:
    """The default radius of clusters in `merge_tree` and in ensembles; 0.1 without a model.

    Attraction decreases by a factor e^{-1/2} over the distance (β‖KᵀQ‖)^{-1/2}, with the
    spectral norm: the shortest range in any direction. The radius is a tenth of it. That is
    deep inside the range of every cluster, where tokens approach exponentially within a time
    of order one, so the radius hardly affects late events. It is at most 0.1.

    Independent noise keeps the tokens of a cluster apart, by 2((d−1)/(κ‖V‖))^{1/2} or less (root
    mean square). The radius is at least twice that, so that two tokens of a cluster are within it
    at least 95% of the time, but at most the range of attention: stronger noise tears clusters
    apart.

    All this describes heads that attract. Several heads, an MLP or lengths of tokens may keep
    groups wider than this radius, and then the number of clusters depends on it: look at
    `count_by_radius`, and choose one.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.clusters.default_radius(pk.Attention(d=2, beta=64.0))
    0.0125
    >>> pk.clusters.default_radius(pk.Attention(d=2, beta=4.0, noise=400.0))
    0.2
    """
    if model is None:
        return cluster_radius(0.0)
    noise = model.noise
    if noise is None or noise.common:  # tokens that are together feel the same noise
        return cluster_radius(model.sharpness)
    return cluster_radius(model.sharpness, thermal_radius(model.d, 1 / noise.kappa, model.rate))


def default_forming(path: Path) -> float:
    """The time in which clusters form: 10/‖V‖, or the second time of a path without a model.

    Examples
    --------
    >>> import parkade as pk
    >>> run = pk.simulate(pk.Attention(V=[2, 2]), pk.sphere.uniform(5, 2, seed=1), 1.0)
    >>> pk.clusters.default_forming(run)
    5.0
    """
    if path.model is not None:
        return FORMING_TIME / (path.model.rate or 1.0)
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
    """Which clusters merge, and when, over a whole run: clusters by leaders.

    A token is *alone* while it is farther than `radius` from every earlier token. It leads a
    cluster until it *arrives*, at the end of its last long period alone. So the number of
    clusters can only decrease. The first token never arrives. Clusters by links, which
    `cluster_labels` finds at one moment, are defined differently.

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
        Number of bisections of the step in which a token arrives, to find the time: 30 give nine
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
    order of the tokens, still counts clusters and gives the times at which they merge.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), x0, 1e9, method="implicit")
    >>> tree = pk.clusters.merge_tree(run)
    >>> len(tree.events), tree.count(1e9), tree.leaders(1e9).tolist()
    (39, 1, [0])
    """
    from parkade.engine.search import neighbours

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
        times=None if run.dense is not None else tuple(run.times.tolist()),
        forming=settled,
    )


def _arrivals(
    run: Path,
    token: NDArray[np.int64],
    last: NDArray[np.int64],
    chord: float,
    halvings: int,
) -> tuple[Array, NDArray[np.int64]]:
    """When each `token` arrives, and where; `last` is the index at which it is last alone."""
    from parkade.engine.search import neighbours

    when = run.times[last + 1]  # index 0 for tokens that are never alone
    nearest = np.empty(len(token), dtype=np.int64)
    size = run.tokens[0].size
    for piece in chunks(len(token), size):
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
        for piece in chunks(len(between), size):
            i = between[piece]
            near, square = neighbours.nearest_earlier(run.at(middle[i]), token[i])
            there = square <= chord
            when[i[there]] = middle[i[there]]
            nearest[i[there]] = near[there]
            before[i[~there]] = middle[i[~there]]
    return when, nearest
