"""Clusters in a page: `merge_tree`, its plateaus, and the leader of each token in each frame."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scenes.run import Indices, SceneRun, inside

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search.neighbours import last_alone
from parkade.explorer.standalone.shared import PERSISTENCE


class MergeEvents(NamedTuple):
    """Merges in order of time, with room for one per token."""

    times: Array  # (n,)
    absorbed: Indices
    into: Indices
    sizes: Indices


class PlateauArrays(NamedTuple):
    """Metastable states, with room for one more than there are tokens."""

    starts: Array  # (n + 1,)
    ends: Array
    lifetimes: Array
    clusters: Indices


@njit()
def _nearest(x: Array, j: int) -> tuple[int, float]:
    """The earlier token that is nearest to token j, and the squared chord between them."""
    nearest, least = 0, np.inf
    for k in range(j):
        square = 0.0
        for c in range(x.shape[1]):
            square += (x[k, c] - x[j, c]) ** 2
        if square < least:
            nearest, least = k, square
    return nearest, least


@njit()
def _arrival(
    run: SceneRun, j: int, last: int, chord: float, halvings: int, x: Array
) -> tuple[float, int]:
    """When token j, alone until time index `last`, arrives, and at which; `x` is a workspace."""
    when, before = run.times[last + 1], run.times[max(last, 0)]
    nearest, _ = _nearest(run.tokens[last + 1], j)
    for _ in range(halvings):
        # Geometric mean: steps may be long compared with t.
        middle = math.sqrt(before) * math.sqrt(when) if before > 0 else when / 2
        if not before < middle < when:
            break
        inside(run, last, middle, j + 1, x)
        near, square = _nearest(x, j)
        if square <= chord:
            when, nearest = middle, near
        else:
            before = middle
    return when, nearest


@njit(allocates=True)
def merges(run: SceneRun, radius: float, halvings: int, events: MergeEvents) -> int:
    """Set `events` to the merges of a run; return their number."""
    steps, n, d = run.tokens.shape
    chord = (2 * math.sin(radius / 2)) ** 2
    last = last_alone(run.times, run.tokens, chord, PERSISTENCE)
    when, nearest = np.empty(n), np.empty(n, dtype=np.int64)
    order, x = np.empty(n, dtype=np.int64), np.empty((n, d))
    count = 0
    for j in range(n):
        if last[j] == steps - 1:
            continue
        when[j], nearest[j] = _arrival(run, j, last[j], chord, halvings, x)
        # Huge times may be equal: sort by step, then time, then index.
        i = count
        while i > 0:
            other = order[i - 1]
            if last[other] < last[j] or (last[other] == last[j] and when[other] <= when[j]):
                break
            order[i] = other
            i -= 1
        order[i] = j
        count += 1
    leader, size = np.arange(n), np.ones(n, dtype=np.int64)
    for e in range(count):
        j = order[e]
        into = nearest[j]
        while leader[into] != into:
            into = leader[into]
        leader[j] = into
        size[into] += size[j]
        events.times[e], events.absorbed[e] = when[j], j
        events.into[e], events.sizes[e] = into, size[j]
    return count


@njit()
def arrivals(events: MergeEvents, count: int, out: Array) -> None:
    """Set `out` to the time when each token arrives at an earlier one; infinity if never."""
    for k in range(out.size):
        out[k] = np.inf
    for e in range(count):
        out[events.absorbed[e]] = events.times[e]


@njit(allocates=True)
def plateaus(arrived: Array, end: float, forming: float, out: PlateauArrays) -> int:
    """Set `out` to the plateaus of a run from time 0 to `end`; return their number."""
    changes = np.empty(arrived.size + 2)
    changes[0], count = 0.0, 1
    for k in range(arrived.size):
        t = arrived[k]
        if not 0.0 < t < np.inf:
            continue
        i = count
        while changes[i - 1] > t:
            i -= 1
        if changes[i - 1] == t:
            continue
        for j in range(count, i, -1):
            changes[j] = changes[j - 1]
        changes[i] = t
        count += 1
    changes[count] = end
    number = 0
    for i in range(count):
        begin, until = changes[i], changes[i + 1]
        if until >= PERSISTENCE * max(begin, forming):
            alive = 0
            for k in range(arrived.size):
                alive += arrived[k] > begin
            out.starts[number], out.ends[number] = begin, until
            out.lifetimes[number], out.clusters[number] = until - begin, alive
            number += 1
    return number


@njit()
def leaders(x: Array, arrived: Array, t: float, labels: Indices) -> int:
    """Set `labels` to each token's leader: itself, or the nearest earlier one; return how many."""
    count = 0
    for k in range(x.shape[0]):
        if arrived[k] > t:
            labels[k] = k
            count += 1
            continue
        labels[k], best = 0, -np.inf
        for j in range(k):
            if arrived[j] > t:
                product = 0.0
                for c in range(x.shape[1]):
                    product += x[k, c] * x[j, c]
                if product > best:
                    labels[k], best = j, product
    return count
