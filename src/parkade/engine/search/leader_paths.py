"""How clusters merge, with each cluster reduced to its leader: compiled, token by token.

A cluster is a point at its *leader*, its earliest token, and carries all tokens that have joined
it. Under the causal mask a leader feels earlier tokens only. So tokens are taken once, in their
order: each moves in the field of the earlier leaders, along paths that are known by then, until
it comes within a radius of one of them and joins it.

Times span hundreds of decades, and so do forces: all are logarithms here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search.leaders import Fates, Indices, Starts, count_parked, log_sum, settle

_TOLERANCE = 0.01  # error of a step, times the sharpness: about that of ln T
_LONGEST = 0.3  # of a step, in units of the range of attention
_THINNING = 0.02  # distance between the stored points of a path, in the same units
_NEGLIGIBLE = 30.0  # weights below e^-30 of the largest do not count
_TRIES = 60
_LEAST = -1e4  # forces below e^-10000 count as zero: such leaders are at rest


class LeaderPaths(NamedTuple):
    """Where leaders are over time: points between which they move evenly."""

    begin: Indices  # (m,): the first point of each
    length: Indices  # (m,): how many points each has
    times: Array  # logarithms
    places: Array  # (capacity, d)
    used: Indices  # (1,)
    room: int  # the largest number of points of one path


class Law(NamedTuple):
    """How leaders attract each other."""

    query: Array  # (d, d): β KᵀQ
    sharpness: float
    chord: float  # square of the chord within which a token joins a leader
    end: float  # logarithm of the last time


class View(NamedTuple):
    """The earlier leaders as a token sees them now."""

    mass: Array  # (m,)
    root: Indices  # (m,): the leader of each leader's cluster
    alive: Indices  # (m,): those that lead
    cursor: Indices  # (m,): the last point of each path that is past
    places: Array  # (m, d)
    scores: Array  # (m,)


@njit()
def _log_gap(a: float, b: float) -> float:
    """ln(e^b − e^a) for a < b."""
    return b if a == -np.inf else b + math.log(-math.expm1(a - b))


@njit()
def _normalize(y: Array) -> None:
    square = 0.0
    for c in range(y.size):
        square += y[c] * y[c]
    length = math.sqrt(square)
    for c in range(y.size):
        y[c] /= length


@njit()
def _place(paths: LeaderPaths, u: int, now: float, cursor: int, out: Array) -> int:
    """Set `out` to where leader u is; returns the last point of its path that is past."""
    first, count = paths.begin[u], paths.length[u]
    while cursor + 1 < count and paths.times[first + cursor + 1] <= now:
        cursor += 1
    here = paths.places[first + cursor]
    if cursor + 1 >= count:
        for c in range(out.size):
            out[c] = here[c]
        return cursor
    before, after = paths.times[first + cursor], paths.times[first + cursor + 1]
    part = math.exp(_log_gap(before, now) - _log_gap(before, after)) if before < now else 0.0
    there = paths.places[first + cursor + 1]
    for c in range(out.size):
        out[c] = here[c] + part * (there[c] - here[c])
    _normalize(out)
    return cursor


@njit()
def _force(law: Law, view: View, count: int, y: Array, out: Array) -> float:
    """Set `out` to the direction in which a token at y moves; returns the logarithm of its speed.

    The speed is |P_y Σ w_u (x_u − y)| / (1 + Σ w_u) with the weights w_u = m_u e^{⟨βKᵀQy, x_u−y⟩}
    of the leaders u; the token itself has the weight 1.
    """
    d = y.size
    query = out  # its place is free until the end
    for c in range(d):
        query[c] = 0.0
        for e in range(d):
            query[c] += law.query[c, e] * y[e]
    top = -np.inf
    for i in range(count):
        u = view.alive[i]
        score = math.log(view.mass[u])
        for c in range(d):
            score += query[c] * (view.places[u, c] - y[c])
        view.scores[i] = score
        top = max(top, score)
    total = 0.0
    for c in range(d):
        out[c] = 0.0
    for i in range(count):
        if view.scores[i] < top - _NEGLIGIBLE:
            continue
        weight = math.exp(view.scores[i] - top)
        total += weight
        u = view.alive[i]
        for c in range(d):
            out[c] += weight * (view.places[u, c] - y[c])
    radial = 0.0
    for c in range(d):
        radial += out[c] * y[c]
    square = 0.0
    for c in range(d):
        out[c] -= radial * y[c]
        square += out[c] * out[c]
    length = math.sqrt(square)
    if length == 0.0:
        return -np.inf
    for c in range(d):
        out[c] /= length
    # ln(1 + Σ w) = ln(e^0 + total e^top)
    return math.log(length) + top - log_sum(0.0, top + math.log(total))


@njit()
def _update(fates: Fates, view: View, now: float, past: int) -> int:
    """Count who has joined whom by now; returns how many have."""
    while past < fates.done[0] and fates.when[fates.order[past]] <= now:
        j = fates.order[past]
        u = fates.into[j]
        while view.root[u] != u:
            u = view.root[u]
        view.root[j] = u
        view.mass[u] += view.mass[j]
        view.mass[j] = 0.0
        past += 1
    return past


@njit()
def _alive(view: View, seen: int) -> int:
    count = 0
    for u in range(seen):
        if view.mass[u] > 0.0:
            view.alive[count] = u
            count += 1
    return count


@njit()
def _keep(paths: LeaderPaths, s: int, now: float, y: Array) -> None:
    """Add a point to the path of leader s."""
    at = paths.used[0]
    paths.times[at] = now
    for c in range(y.size):
        paths.places[at, c] = y[c]
    paths.used[0] += 1
    paths.length[s] += 1


@njit()
def _look(fates: Fates, view: View, s: int) -> None:
    """Set the view to the earlier leaders as they are at the start."""
    for u in range(s):
        view.mass[u] = fates.mass[u]
        view.root[u] = u
        view.cursor[u] = 0


@njit()
def _nearest(paths: LeaderPaths, view: View, count: int, now: float, y: Array) -> tuple[int, float]:
    """Set the places of all that lead now; the nearest to y, and the square of its chord."""
    nearest, least = -1, np.inf
    for i in range(count):
        u = view.alive[i]
        view.cursor[u] = _place(paths, u, now, view.cursor[u], view.places[u])
        square = 0.0
        for c in range(y.size):
            square += (view.places[u, c] - y[c]) ** 2
        if square < least:
            nearest, least = u, square
    return nearest, least


@njit(allocates=True)
def follow(starts: Starts, law: Law, fates: Fates, paths: LeaderPaths, first: int) -> int:
    """Move the leaders from number `first` on, as long as there is room for another path.

    Returns the number of the leader that comes next.
    """
    m, d = starts.places.shape
    view = View(
        np.empty(m),
        np.empty(m, dtype=np.int64),
        np.empty(m, dtype=np.int64),
        np.empty(m, dtype=np.int64),
        np.empty((m, d)),
        np.empty(m),
    )
    work = np.empty((4, d))
    for s in range(first, m):
        if paths.used[0] + paths.room > paths.times.size:
            return s
        count_parked(starts, fates, s)
        _follow_one(starts, law, fates, paths, view, s, work)
    return int(m)


@njit()
def _follow_one(
    starts: Starts, law: Law, fates: Fates, paths: LeaderPaths, view: View, s: int, work: Array
) -> None:
    """Move leader s until it joins another, rests, or the time ends."""
    d = starts.places.shape[1]
    y, goal, here, there = work[0], work[1], work[2], work[3]
    for c in range(d):
        y[c] = starts.places[s, c]
    paths.begin[s], paths.length[s] = paths.used[0], 0
    _keep(paths, s, -np.inf, y)
    _look(fates, view, s)
    longest = math.log(_LONGEST / math.sqrt(max(1.0, law.sharpness)))
    thin = (_THINNING**2) / max(1.0, law.sharpness)
    now, step, past, seen = -np.inf, math.log(0.01), 0, -1
    count, before, distance = 0, -np.inf, np.inf
    while s > 0 and now < law.end:
        past = _update(fates, view, now, past)
        if past != seen:
            count, seen = _alive(view, s), past
        nearest, square = _nearest(paths, view, count, now, y)
        if square <= law.chord:
            # Distances decrease exponentially at last: find when within the step it arrived.
            if before < now and distance > square:
                part = math.log(distance / law.chord) / math.log(distance / square)
                now = log_sum(before, math.log(part) + _log_gap(before, now))
            fates.when[s], fates.into[s] = now, nearest
            settle(fates, s)
            break
        before, distance = now, square
        moved = 0.0
        for c in range(d):
            moved += (paths.places[paths.used[0] - 1, c] - y[c]) ** 2
        if moved > thin and paths.length[s] < paths.room - 1:
            _keep(paths, s, now, y)
        speed = _force(law, view, count, y, here)
        if speed < _LEAST:
            break
        until = fates.when[fates.order[past]] if past < fates.done[0] else np.inf
        # No step is longer than half of the way to the nearest leader.
        most = min(longest, 0.5 * math.log(square) - 0.7)
        for attempt in range(_TRIES):
            step = min(step, most - speed)
            wanted, next_time = step, log_sum(now, step)
            if next_time >= until:
                next_time, step = until, _log_gap(now, until)
            for c in range(d):
                goal[c] = y[c] + math.exp(step + speed) * here[c]
            _normalize(goal)
            for i in range(count):
                u = view.alive[i]
                _place(paths, u, next_time, view.cursor[u], view.places[u])
            then = _force(law, view, count, goal, there)
            error = 0.0
            for c in range(d):
                gap = math.exp(step + then) * there[c] - math.exp(step + speed) * here[c]
                error += gap * gap
            error = 0.5 * law.sharpness * math.sqrt(error)
            growth = 0.9 * math.sqrt(_TOLERANCE / max(error, 1e-9))
            if error <= _TOLERANCE or attempt == _TRIES - 1:
                for c in range(d):
                    pushed = math.exp(step + speed) * here[c] + math.exp(step + then) * there[c]
                    y[c] += 0.5 * pushed
                _normalize(y)
                now = next_time
                # A step that was cut short says nothing of the next one.
                step = wanted if now == until else step + math.log(min(10.0, max(0.2, growth)))
                break
            step += math.log(max(0.1, growth))
    _keep(paths, s, now, y)
