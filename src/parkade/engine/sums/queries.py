"""Queries of any Q and K: their directions and lengths, their coefficients, and direct sums.

Token k has the query a_k = β KᵀQ x_k. Weights are relative to the largest one possible, that of a
key in the direction y_k of the query: exp⟨a_k, x_j⟩ / exp|a_k|. A token's own weight is less than 1
then, unless it is in the direction of its query. Direct sums have a shift of their own, because all
of these weights may underflow.
"""

from __future__ import annotations

from math import frexp
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, SUMS, njit
from parkade.engine.compile.simd import MAX_SCORE, exp2
from parkade.engine.sums.harmonic import LONE, ROUNDING, dot
from parkade.engine.sums.lengths import CELLS, DEGREE
from parkade.engine.sums.running import CHUNK
from parkade.engine.system import LOG2E, Dims, System


class Queries(NamedTuple):
    """The queries of a chunk of tokens."""

    vectors: Array  # (CHUNK, d): log2(e) a_k
    directions: Array  # (CHUNK, d): y_k
    sizes: Array  # (3, CHUNK): |a_k|; the shift that a weight of 1 has; the token's own weight


@njit(allocates=True)
def make_queries(d: int) -> Queries:
    """Arrays for the queries of a chunk."""
    return Queries(np.empty((CHUNK, d)), np.empty((CHUNK, d)), np.empty((3, CHUNK)))


@njit(error_model="numpy")
def set_queries(system: System, dims: Dims, x: Array, lo: int, hi: int, queries: Queries) -> None:
    """Set the queries of the tokens lo ≤ k < hi."""
    d = len(dims)
    for k in range(lo, hi):
        i = k - lo
        square = 0.0
        for c in range(d):
            value = 0.0
            for e in range(d):
                value += system.query[c, e] * x[k, e]
            queries.vectors[i, c] = value
            square += value * value
        length = np.sqrt(square)
        gap = 0.0
        for c in range(d):
            # A query of length 0 has no direction, and needs none.
            away = queries.vectors[i, c] / length if length > 0.0 else x[k, c]
            queries.directions[i, c] = away
            gap += (away - x[k, c]) ** 2
        shift = 0.5 * gap * length  # |a| − ⟨a, x⟩, without cancellation
        queries.sizes[0, i], queries.sizes[1, i] = length / LOG2E, shift
        queries.sizes[2, i] = exp2(-shift)


@njit(fastmath=FUSED)
def set_coefficients(lengths: Array, length: float, out: Array) -> None:
    """Set `out` to the coefficients for a query of this length; see `lengths`."""
    if not length < 2.0**40:
        for c in range(out.size):
            out[c] = np.nan
        return
    mantissa, exponent = frexp(1.0 + length)
    place = 2 * CELLS * (mantissa - 0.5)
    within = int(place)
    u = 2.0 * (place - within) - 1.0
    pieces = lengths[min(CELLS * (exponent - 1) + within, lengths.shape[0] - 1)]
    for c in range(out.size):
        value = pieces[0, c]
        for power in range(1, DEGREE + 1):
            value = value * u + pieces[power, c]
        out[c] = value


@njit()
def is_lost(other: float, own: float, mass: float, accuracy: float) -> bool:
    """Whether a token must be summed directly, by its harmonic Σ_{j≠k} w and its own weight.

    As `harmonic.is_lone`, but the own weight may be less than 1. All of the weights may even be as
    small as rounding errors, if nothing is where the query points. The mean is made of three sums.
    """
    # Written so that what is not a number is lost, and so is a token without any weights.
    return not other >= LONE * own or not 2.0 * ROUNDING * mass < accuracy * (own + other)


class Ask(NamedTuple):
    """A query to be summed directly."""

    vector: Array  # (d,): log2(e) a
    x: Array  # (d,): its token
    shift: float  # weights are 2^(⟨vector, x_j − x⟩ − shift)


class Places(NamedTuple):
    """What a query is summed over directly."""

    keys: Array  # (d, count or more): the x_j, coordinate by coordinate
    masses: Array  # (count,); empty if all are 1


@njit(fastmath=SUMS)
def _weigh(places: Places, ask: Ask, lo: int, hi: int, room: Array) -> None:
    """Set room[0] to weights times masses of the keys lo ≤ j < hi, room[1:] to x_j − x."""
    count = hi - lo
    weights = room[0]
    for j in range(count):
        weights[j] = -ask.shift
    for c in range(ask.x.size):
        key, gap, own, along = places.keys[c], room[1 + c], ask.x[c], ask.vector[c]
        for j in range(count):
            gap[j] = key[lo + j] - own
            weights[j] += along * gap[j]
    for j in range(count):
        weights[j] = exp2(weights[j])
    if places.masses.size > 0:
        for j in range(count):
            weights[j] *= places.masses[lo + j]


@njit(fastmath=SUMS)
def add_keys(
    places: Places, ask: Ask, lo: int, hi: int, room: Array, sums: Array, second: Array
) -> None:
    """Add Σ w and Σ w δ over the keys lo ≤ j < hi to `sums`, with δ = x_j − x.

    Σ w δ δᵀ is added to `second`, unless that is empty.
    """
    d = ask.x.size
    for start in range(lo, hi, room.shape[1]):
        count = min(hi, start + room.shape[1]) - start
        _weigh(places, ask, start, start + count, room)
        total = 0.0
        for j in range(count):
            total += room[0, j]
        sums[0] += total
        for c in range(d):
            sums[1 + c] += dot(room[0], room[1 + c], count)
        if second.size > 0:
            weighted = room[1 + d]
            for c in range(d):
                for j in range(count):
                    weighted[j] = room[0, j] * room[1 + c, j]
                for e in range(d):
                    second[c, e] += dot(weighted, room[1 + e], count)


@njit(fastmath=SUMS)
def add_changed(
    places: Places, ask: Ask, u: Array, lo: int, hi: int, room: Array, sums: Array
) -> None:
    """Add Σ w b_j and Σ w [u_j + (x_j − x) b_j] with b_j = ⟨a, u_j⟩ over lo ≤ j < hi to `sums`."""
    d = ask.x.size
    for start in range(lo, hi, room.shape[1]):
        count = min(hi, start + room.shape[1]) - start
        _weigh(places, ask, start, start + count, room)
        weights, along = room[0], room[1 + d]
        for j in range(count):
            along[j] = 0.0
        for c in range(d):
            moved, a = u[c], ask.vector[c] / LOG2E
            for j in range(count):
                along[j] += a * moved[start + j]
        total = 0.0
        for j in range(count):
            along[j] *= weights[j]
            total += along[j]
        sums[0] += total
        for c in range(d):
            moved, gap = u[c], room[1 + c]
            total = 0.0
            for j in range(count):
                total += weights[j] * moved[start + j] + along[j] * gap[j]
            sums[1 + c] += total


@njit()
def safe_shift(places: Places, fixed: Places, ask: Ask, n: int, own: int) -> float:
    """A shift with which no weight overflows: 0, or the largest score of the keys but `own`.

    `ask` comes with the shift of the direction of the query, above which no score is.
    """
    if ask.shift <= MAX_SCORE:
        return 0.0
    return max(0.0, _largest(places, ask, n, own), _largest(fixed, ask, fixed.masses.size, -1))


@njit()
def _largest(places: Places, ask: Ask, count: int, own: int) -> float:
    """The largest score of the keys j < count but `own`, relative to that of the token."""
    largest = -np.inf
    for j in range(count):
        score = 0.0
        for c in range(ask.x.size):
            score += ask.vector[c] * (places.keys[c, j] - ask.x[c])
        if score > largest and j != own:
            largest = score
    return largest
