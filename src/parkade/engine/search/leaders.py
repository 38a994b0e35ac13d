"""Which leader a token joins, by the law of pairs: compiled, token by token.

`leader_paths` computes the same with whole paths; the types and functions of both are here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

Indices = NDArray[np.int64]


class Starts(NamedTuple):
    """The tokens that lead at the start, in order, and those that are parked at one of them."""

    places: Array  # (m, d)
    token: Indices  # (m,): which tokens they are, increasing
    parked: Indices  # (p,): the other tokens, increasing
    host: Indices  # (p,): the number of the leader at which each is parked


class Fates(NamedTuple):
    """When leaders join another, and which; by their numbers."""

    when: Array  # (m,): logarithms of times; infinite if never
    into: Indices  # (m,)
    order: Indices  # (m,): those that join, by time, in the first `done` places
    done: Indices  # (2,): how many have joined, and how many parked tokens are counted
    mass: Array  # (m,): the tokens at each leader at the start, up to the current one


@njit()
def log_sum(a: float, b: float) -> float:
    """ln(e^a + e^b), without overflow."""
    if a == -np.inf or b == -np.inf:
        return max(a, b)
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@njit()
def settle(fates: Fates, s: int) -> None:
    """Put leader s in the order of those that join another."""
    i = fates.done[0]
    while i > 0 and fates.when[fates.order[i - 1]] > fates.when[s]:
        fates.order[i] = fates.order[i - 1]
        i -= 1
    fates.order[i] = s
    fates.done[0] += 1


@njit()
def count_parked(starts: Starts, fates: Fates, s: int) -> None:
    """Count the tokens before leader s that are parked at the start."""
    q = fates.done[1]
    while q < starts.parked.size and starts.parked[q] < starts.token[s]:
        fates.mass[starts.host[q]] += 1.0
        q += 1
    fates.done[1] = q


@njit()
def _log_time(table: Array, low: float, angle: float, mass: float) -> float:
    """The logarithm of T(φ, m), from its two parts for m = 1 on a grid from `low` to π."""
    if angle <= low:
        return -np.inf
    place = (angle - low) / (math.pi - low) * (table.shape[1] - 1)
    i = min(int(place), table.shape[1] - 2)
    part = place - i
    if i == 0:  # both parts are 0 at the radius
        return log_sum(table[0, 1] - math.log(mass), table[1, 1]) + math.log(part)
    slow = (1.0 - part) * table[0, i] + part * table[0, i + 1]
    fast = (1.0 - part) * table[1, i] + part * table[1, i + 1]
    return log_sum(slow - math.log(mass), fast)


@njit()
def _mass_at(fates: Fates, u: int, s: int, now: float) -> float:
    """How many tokens before leader s are with leader u at a time."""
    mass = 0.0
    for j in range(u, s):
        k = j
        while fates.when[k] <= now:
            k = fates.into[k]
        if k == u:
            mass += fates.mass[j]
    return mass


@njit(allocates=True)
def by_pairs(starts: Starts, fates: Fates, table: Array, low: float) -> None:
    """Join each leader to the earlier one that it alone would reach first, while that one leads."""
    m, d = starts.places.shape
    angle = np.empty(m)
    for s in range(1, m):
        count_parked(starts, fates, s)
        everyone = 0.0
        for u in range(s):
            minus, plus = 0.0, 0.0
            for c in range(d):
                minus += (starts.places[s, c] - starts.places[u, c]) ** 2
                plus += (starts.places[s, c] + starts.places[u, c]) ** 2
            angle[u] = 2.0 * math.atan2(math.sqrt(minus), math.sqrt(plus))
            everyone += fates.mass[u]
        for u in np.argsort(angle[:s]):
            if _log_time(table, low, angle[u], everyone) >= fates.when[s]:
                break  # no farther one can be sooner
            now = _log_time(table, low, angle[u], 1.0)
            for _ in range(4):  # the more have joined by then, the sooner it is
                mass = _mass_at(fates, u, s, now)
                now = _log_time(table, low, angle[u], max(mass, 1.0))
            if fates.when[u] > now and now < fates.when[s]:
                fates.when[s], fates.into[s] = now, u
        if fates.into[s] >= 0:
            settle(fates, s)
