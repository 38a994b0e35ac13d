"""The forecast of the whole merge tree from the start alone."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError, TrustWarning, doubts_matter
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.model.parts.mask import Causal
from parkade.theory.doubts import doubts
from parkade.theory.final import final_configuration
from parkade.theory.meeting import FORMING_TIME, cluster_radius, log_integrals
from parkade.theory.merge_tree import Merge, MergeTree
from parkade.theory.parking import renyi_centers

Pull = Literal["net", "nearest"]

LATEST = 1e300
"""Merges after this time are not forecast."""

SHARPEST = 1e20
"""The largest β (times the norm of KᵀQ) for which positions of tokens have enough digits."""

MOST_LEADERS = 600
"""If there are more leaders than this at the start, close ones are joined."""

WIDEST_PARKING = 1.0
"""The largest distance of leaders to join, as a multiple of the range of attention."""

PATH_POINTS = 64
"""The average number of points of the path of a leader."""

_GRID = 20001  # points of the table of ln T
_ROOM = 100_000.0  # largest number of points of a path: for large β, leaders hardly move


class _Problem(NamedTuple):
    """Tokens and attraction, reduced to V = I."""

    tokens: Array
    query: Array  # β KᵀQ
    sharpness: float
    rate: float  # by which times are divided


def forecast(
    tokens: ArrayLike,
    beta: float | Model,
    *,
    pull: Pull = "net",
    radius: float | None = None,
    t_end: float | None = None,
) -> MergeTree:
    """Forecast which clusters merge, and when, from the start alone.

    No run is simulated. A cluster is taken as a point at its *leader*, its earliest token, which
    attends only to earlier tokens. So one pass over the tokens in their order suffices: each
    joins one of the earlier leaders at some time, and from then on adds to its mass.

    Parameters
    ----------
    tokens : (n, d) array
        Unit vectors, in sequence order: the start.
    beta : float or Model
        Inverse temperature, with Q = K = V = I; or a causal model with one attention head. If V
        is not a multiple of I, its leading eigenvalue must be positive and belong to a real
        eigenspace L of at least two dimensions. Tokens are then projected on L at the start.
    pull : {"net", "nearest"}
        What moves a leader. "net": all earlier leaders, along their own paths. "nearest": the
        law of pairs. Leader s joins the earlier leader u that it would reach first if there were
        no others, in the time T(φ, m) of `log_meeting_time`, where φ is their distance at the
        start and m the number of tokens before s that are with u by then, when u must still lead
        a cluster. Only for Q and K that are multiples of I.
    radius : float, optional
        Tokens closer than this are together; `clusters.default_radius` by default. If there are
        more than 600 leaders at the start, tokens join earlier ones within a larger distance, at
        most the range of attention, β^{-1/2}.
    t_end : float, optional
        Forecast merges up to this time; 1e300 by default.

    Returns
    -------
    MergeTree
        As `Trajectory.merge_tree` returns it. It ends at `t_end`, or by default at ten times the
        last merge. Its `doubts` are reasons why it may be wrong; usually there are none.

    Warns
    -----
    TrustWarning
        If there are doubts: KᵀQ is far from a multiple of I, or merges depend on errors of 0.001
        of the range of attention in the start, as they do for equally spaced tokens.

    Notes
    -----
    This is a reduction, not a theorem: followers are taken to be where their leader is, and to
    arrive at once. docs/findings.md compares it with simulations, docs/life.md states how often
    forecasts with doubts were right.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(200, 2, seed=1)
    >>> tree = pk.theory.forecast(x0, beta=64.0)
    >>> [p.clusters for p in tree.plateaus]
    [8, 7, 6, 5, 4, 3, 2, 1]
    >>> f"{tree.events[-1].time:.0e}"
    '4e+48'
    """
    if pull not in ("net", "nearest"):
        raise InputError(f"pull must be 'net' or 'nearest', got {check.brief(pull)}")
    problem = _reduce(tokens, beta)
    if problem.sharpness > SHARPEST:
        raise InputError(
            f"beta (times the norm of KᵀQ) must be at most {SHARPEST:g}, got "
            f"{problem.sharpness:g}: the range of attention would be lost in rounding errors"
        )
    r = cluster_radius(problem.sharpness) if radius is None else check.positive("radius", radius)
    if r >= math.pi:
        raise InputError(f"radius must be an angle below π, got {r:g}; try radius=0.1")
    end = None if t_end is None else min(LATEST, check.positive("t_end", t_end))
    tree = _tree(problem, pull, r, end)
    if doubts_matter():
        reasons = doubts(
            problem.tokens,
            problem.query,
            problem.rate,
            tree,
            lambda moved: _tree(problem._replace(tokens=moved), pull, r, end),
        )
        tree = replace(tree, doubts=reasons)
        if reasons:
            text = f"the forecast is doubtful: {'; '.join(reasons)}; simulate to be sure"
            warnings.warn(text, TrustWarning, stacklevel=2)
    return tree


def _tree(problem: _Problem, pull: Pull, r: float, t_end: float | None) -> MergeTree:
    """The forecast, by default up to ten times the last merge."""
    from parkade.engine.search import leaders

    end = LATEST if t_end is None else t_end
    starts = leaders.Starts(*_park(problem, r))
    m = len(starts.token)
    fates = leaders.Fates(
        np.full(m, np.inf), np.full(m, -1), np.zeros(m, np.int64), np.zeros(2, np.int64), np.ones(m)
    )
    if pull == "net":
        _by_paths(problem, starts, fates, r, math.log(end * problem.rate))
    else:
        _by_pairs(problem, starts, fates, r)
    with np.errstate(over="ignore"):
        when = np.exp(fates.when - math.log(problem.rate))
    when[when > end] = np.inf
    events = _events(starts, when, fates.into)
    last = events[-1].time if events else 0.0
    return MergeTree(
        n=len(problem.tokens),
        start=0.0,
        end=min(end, 10 * max(last, FORMING_TIME / problem.rate)) if t_end is None else end,
        radius=r,
        persistence=2.0,
        events=events,
        forming=FORMING_TIME / problem.rate,
    )


def _reduce(tokens: ArrayLike, beta: Any) -> _Problem:
    """The equivalent problem with V = I."""
    if not isinstance(beta, Model):
        x = check.tokens(tokens)
        sharpness = check.number("beta", beta)
        if sharpness < 0:
            raise InputError(f"beta must be ≥ 0, got {sharpness:g}")
        return _Problem(np.ascontiguousarray(x), sharpness * np.eye(x.shape[1]), sharpness, 1.0)
    model = beta
    product, generator, sharp = model.product, model.generator, model.beta
    if product is None or generator is None or sharp is None or not model.plain:
        raise InputError(
            f"forecast needs one attention head and nothing else, got {model.label}; pass "
            "parkade.Attention"
        )
    if not isinstance(model.mask, Causal):
        raise InputError(
            "forecast needs the causal mask: with full attention clusters have no leaders"
        )
    x = check.tokens(tokens, d=model.d)
    ending = final_configuration(generator)
    value = ending.eigenvalue.real
    if ending.kind != "one point" or ending.dim < 2:
        raise InputError(
            "forecast needs a V whose leading eigenvalue is real, positive and has an eigenspace "
            f"of two or more dimensions, got {value:.4g} with {ending.dim}; try V = I"
        )
    inside = x @ ending.projection.T @ ending.basis
    size = np.linalg.norm(inside, axis=1)
    if size.min() < 1e-12:
        raise InputError(
            f"every token must have a part in the leading eigenspace, got token {size.argmin()} "
            "without; rotate it by any small angle"
        )
    query = sharp * (ending.basis.T @ product @ ending.basis)
    places = np.ascontiguousarray(inside / size[:, None])
    return _Problem(places, query, float(np.linalg.norm(query, 2)), float(value))


def _park(
    problem: _Problem, radius: float
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The leaders at the start, and the other tokens, each with the leader that it joins."""
    x, reach = problem.tokens, radius
    centers = renyi_centers(x, reach)
    widest = WIDEST_PARKING / math.sqrt(max(1.0, problem.sharpness))
    while len(centers) > MOST_LEADERS and reach < widest:
        reach = min(widest, reach * max(1.1, len(centers) / MOST_LEADERS) ** (1 / (x.shape[1] - 1)))
        centers = renyi_centers(x, reach)
    others = np.setdiff1d(np.arange(len(x)), centers, assume_unique=True)
    if not others.size:
        return x[centers], centers, others, others
    from scipy.spatial import KDTree

    # Of the nearest leaders, the first that is earlier; one of the nearest dozen is in practice.
    count = min(12, len(centers))
    _, near = KDTree(x[centers]).query(x[others], k=count)
    near = near.reshape(len(others), count)
    earlier = centers[near] < others[:, None]
    chosen = near[np.arange(len(others)), earlier.argmax(axis=1)]
    host = np.where(earlier.any(axis=1), chosen, 0)
    return np.ascontiguousarray(x[centers]), centers, others, host


def path_room(sharpness: float) -> int:
    """The largest number of points of one path."""
    return int(min(_ROOM, 500 * math.sqrt(max(1.0, sharpness))))


def _by_paths(problem: _Problem, starts: Any, fates: Any, radius: float, end: float) -> None:
    """Set the fates of the leaders by their paths."""
    from parkade.engine.search import leader_paths

    m, d = starts.places.shape
    law = leader_paths.Law(problem.query, problem.sharpness, (2 * math.sin(radius / 2)) ** 2, end)
    room = path_room(problem.sharpness)
    times, places = np.empty(room + PATH_POINTS * m), np.empty((room + PATH_POINTS * m, d))
    whole = np.zeros(m, np.int64), np.zeros(m, np.int64)
    used, done = np.zeros(1, np.int64), 0
    while done < m:
        paths = leader_paths.LeaderPaths(*whole, times, places, used, room)
        done = leader_paths.follow(starts, law, fates, paths, done)
        times, places = np.resize(times, 2 * len(times)), np.resize(places, (2 * len(times), d))


def _by_pairs(problem: _Problem, starts: Any, fates: Any, radius: float) -> None:
    """Set the fates of the leaders by the law of pairs."""
    from parkade.engine.search import leaders

    beta = float(problem.query[0, 0])
    if not np.array_equal(problem.query, beta * np.eye(len(problem.query))):
        raise InputError("pull='nearest' needs Q and K that are multiples of I; use pull='net'")
    grid = np.linspace(radius, math.pi, _GRID)
    table = np.array(log_integrals(grid, beta, radius))
    table[:, 0], table[:, -1] = -np.inf, 1e308
    leaders.by_pairs(starts, fates, table, radius)


def _events(starts: Any, when: Array, into: NDArray[np.int64]) -> tuple[Merge, ...]:
    """The merges in order of time: first the tokens that join at the start, then leaders."""
    index = starts.token
    hosts = index[starts.host].tolist()
    events = [Merge(0.0, j, u, 1) for j, u in zip(starts.parked.tolist(), hosts, strict=True)]
    size = 1 + np.bincount(starts.host, minlength=len(index))
    root = np.arange(len(index))
    for s in np.argsort(when, kind="stable"):
        if not math.isfinite(when[s]):
            break
        u = into[s]
        while root[u] != u:
            u = root[u]
        root[s] = u
        size[u] += size[s]
        events.append(Merge(float(when[s]), int(index[s]), int(index[u]), int(size[s])))
    return tuple(events)
