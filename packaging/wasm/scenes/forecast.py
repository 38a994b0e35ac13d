"""The forecast of a scene by paths, as in `parkade.theory.forecast`, compared with its run."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numerics.symmetric import spectral_norm
from scenes.final import FinalNumbers
from scenes.merges import MergeEvents
from scenes.run import Indices

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search.balls import BLOCKED, by_scan
from parkade.engine.search.leader_paths import Law, LeaderPaths, follow
from parkade.engine.search.leaders import Fates, Starts
from parkade.explorer.scenes.forecast import LEAST, MOST_TOKENS, MOST_WORK, SINCE
from parkade.theory.forecast import LATEST, MOST_LEADERS, PATH_POINTS, WIDEST_PARKING, path_room
from parkade.theory.meeting import cluster_radius

_cluster_radius = njit()(cluster_radius)
_path_room = njit()(path_room)

_NEAREST = 12  # the nearest leaders, among which a token looks for an earlier one


class ForecastInput(NamedTuple):
    """The start of a forecast: tokens, attention, and the leading eigenspace of V."""

    tokens: Array  # (n, d)
    product: Array  # (d, d): KᵀQ
    final: FinalNumbers
    beta: float
    radius: float  # of the clusters that were observed
    end: float  # the end of the run


class ForecastMerges(NamedTuple):
    """The forecast merges, and the number of observed ones that were forecast correctly."""

    times: Array  # (n,)
    absorbed: Indices  # (n,)
    into: Indices  # (n,)
    right: Indices  # (2,): observed merges, and those that were forecast with this partner


@njit(allocates=True)
def centers(x: Array, radius: float) -> Indices:
    """The Rényi centres, as in `renyi_centers`, for angles up to π/2."""
    fates, _ = by_scan(x, -1.0, (2 * math.sin(radius / 2)) ** 2, False)
    count = 0
    for k in range(fates.size):
        count += fates[k] != BLOCKED
    indices, i = np.empty(count, dtype=np.int64), 0
    for k in range(fates.size):
        if fates[k] != BLOCKED:
            indices[i] = k
            i += 1
    return indices


@njit(allocates=True)
def reduced(inputs: ForecastInput, query: Array) -> tuple[Array, bool]:
    """Tokens in the leading eigenspace, and whether all have a part in it; set `query` to βKᵀQ."""
    n, d = inputs.tokens.shape
    dim, basis, projection = query.shape[0], inputs.final.basis, inputs.final.projection
    along = np.zeros((d, dim))  # projectionᵀ · basis
    for r in range(d):
        for c in range(dim):
            for e in range(d):
                along[r, c] += projection[e, r] * basis[e, c]
    places, fine = np.zeros((n, dim)), True
    for k in range(n):
        square = 0.0
        for c in range(dim):
            for e in range(d):
                places[k, c] += inputs.tokens[k, e] * along[e, c]
            square += places[k, c] * places[k, c]
        size = math.sqrt(square)
        fine = fine and size >= 1e-12
        for c in range(dim):
            places[k, c] /= max(size, 1e-300)
    for r in range(dim):
        for c in range(dim):
            query[r, c] = 0.0
            for e in range(d):
                for f in range(d):
                    query[r, c] += basis[e, r] * inputs.product[e, f] * basis[f, c]
            query[r, c] *= inputs.beta
    return places, fine


@njit()
def _host(x: Array, leading: Indices, k: int) -> int:
    """The index of the leader at which token k is parked: the nearest earlier one."""
    host, least = 0, np.inf
    for i in range(leading.size):
        square = 0.0
        for c in range(x.shape[1]):
            square += (x[leading[i], c] - x[k, c]) ** 2
        if leading[i] < k and square < least:
            host, least = i, square
    # It must be among the nearest leaders.
    nearer = 0
    for i in range(leading.size):
        square = 0.0
        for c in range(x.shape[1]):
            square += (x[leading[i], c] - x[k, c]) ** 2
        nearer += square < least
    return host if nearer < _NEAREST else 0


@njit(allocates=True)
def park(x: Array, sharpness: float, radius: float) -> Starts:
    """The leaders at the start, and the other tokens, each with the leader it is parked at."""
    n, d = x.shape
    reach, leading = radius, centers(x, radius)
    widest = WIDEST_PARKING / math.sqrt(max(1.0, sharpness))
    while leading.size > MOST_LEADERS and reach < widest:
        reach = min(widest, reach * max(1.1, leading.size / MOST_LEADERS) ** (1 / (d - 1)))
        leading = centers(x, reach)
    m = leading.size
    places = np.empty((m, d))
    parked, host = np.empty(n - m, dtype=np.int64), np.empty(n - m, dtype=np.int64)
    i = 0
    for k in range(n):
        if i < m and leading[i] == k:
            for c in range(d):
                places[i, c] = x[k, c]
            i += 1
        else:
            parked[k - i], host[k - i] = k, _host(x, leading, k)
    return Starts(places, leading, parked, host)


@njit(allocates=True)
def _by_paths(starts: Starts, law: Law) -> Fates:
    """Compute the fates of the leaders from their paths."""
    m, d = starts.places.shape
    fates = Fates(
        np.full(m, np.inf),
        np.full(m, -1),
        np.zeros(m, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.ones(m),
    )
    room = _path_room(law.sharpness)
    size = room + PATH_POINTS * m
    times, places = np.empty(size), np.empty((size, d))
    begin, length = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    used, done = np.zeros(1, dtype=np.int64), 0
    while done < m:
        paths = LeaderPaths(begin, length, times, places, used, room)
        done = follow(starts, law, fates, paths, done)
        if done < m:
            more, wider = np.empty(2 * times.size), np.empty((2 * times.size, d))
            for i in range(times.size):
                more[i] = times[i]
                for c in range(d):
                    wider[i, c] = places[i, c]
            times, places = more, wider
    return fates


@njit(allocates=True)
def _in_order(when: Array) -> Indices:
    """The indices that sort numbers in increasing order; equal ones keep their order."""
    order = np.empty(when.size, dtype=np.int64)
    for s in range(when.size):
        i = s
        while i > 0 and when[order[i - 1]] > when[s]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = s
    return order


@njit(allocates=True)
def forecast(inputs: ForecastInput, seen: MergeEvents, out: ForecastMerges) -> int:
    """Set `out` to the forecast; return its number of merges in the run, or -1 if there is none."""
    n, d = inputs.tokens.shape
    if inputs.end < LEAST or n > MOST_TOKENS:
        return -1
    leading = centers(inputs.tokens, inputs.radius).size
    if leading * leading * (d - 1) > MOST_WORK:
        return -1
    dim, value = int(inputs.final.numbers[4]), inputs.final.numbers[1]
    query = np.empty((dim, dim))
    places, fine = reduced(inputs, query)
    if not fine:
        return -1
    sharpness = spectral_norm(query)
    radius = _cluster_radius(sharpness, 0.0)
    starts = park(places, sharpness, radius)
    end = math.log(LATEST * value)
    fates = _by_paths(starts, Law(query, sharpness, (2 * math.sin(radius / 2)) ** 2, end))
    return _agree(inputs, starts, fates, seen, out)


@njit(allocates=True)
def _agree(
    inputs: ForecastInput, starts: Starts, fates: Fates, seen: MergeEvents, out: ForecastMerges
) -> int:
    """Set `out` to the forecast merges, compared with observed ones; return their number."""
    n, m = inputs.tokens.shape[0], starts.token.size
    partner = np.full(n, -1)
    count = 0
    for p in range(starts.parked.size):
        out.times[count] = 0.0
        out.absorbed[count], out.into[count] = starts.parked[p], starts.token[starts.host[p]]
        partner[out.absorbed[count]] = out.into[count]
        count += 1
    when = np.empty(m)
    for s in range(m):
        when[s] = math.exp(fates.when[s] - math.log(inputs.final.numbers[1]))
        if when[s] > LATEST:
            when[s] = np.inf
    root = np.arange(m)
    for s in _in_order(when):
        if not when[s] < np.inf:
            break
        u = fates.into[s]
        while root[u] != u:
            u = root[u]
        root[s] = u
        partner[starts.token[s]] = starts.token[u]
        if when[s] <= inputs.end:
            out.times[count] = when[s]
            out.absorbed[count], out.into[count] = starts.token[s], starts.token[u]
            count += 1
    out.right[0], out.right[1] = 0, 0
    for e in range(seen.times.size):
        if seen.times[e] > SINCE:
            out.right[0] += 1
            out.right[1] += partner[seen.absorbed[e]] == seen.into[e]
    return count
