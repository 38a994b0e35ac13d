"""Sums over tokens that are in a few lumps; `rest.lumps` says what they are good for.

Tokens within a small radius form a lump. A token of lump j has the weight E_gj for all tokens in
lump g, whose first one is at z_g. The sums over the tokens before the present one,

    T_g = Σ_i E_gj(i),    S_g = Σ_i E_gj(i) (x_i − z_g),    and so on for second moments,

are the same for all tokens of lump g at that time. To add each of n tokens to the sums of G lumps
takes n·G operations instead of n²/2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import exp2
from parkade.engine.system import System


class LumpSums(NamedTuple):
    """Sums over the tokens before the present one, for tokens in some of the lumps, G of L."""

    number: NDArray[np.int64]  # (L,): the number of a lump among the G, or -1
    place: Array  # (d, G): where they are
    own: Array  # (G,): the weight of a token of the lump itself
    weights: Array  # (L, G): of a token of each lump
    totals: Array  # (1 + d + d (d + 1) / 2, G): of weights, and their first and second moments


@njit()
def find_lumps(
    x: Array, radius: float, most: int, of: NDArray[np.int64], first: NDArray[np.int64]
) -> int:
    """Share places out to lumps; returns the number of lumps, or 0 if it exceeds `most`."""
    count = 0
    for k in range(x.shape[0]):
        of[k] = -1
        for g in range(count):
            square = 0.0
            for c in range(x.shape[1]):
                square += (x[k, c] - x[first[g], c]) ** 2
            if square <= radius * radius:
                of[k] = g
                break
        if of[k] < 0:
            if count == most:
                return 0
            first[count], of[k] = k, count
            count += 1
    return count


@njit(allocates=True)
def begin(
    system: System, x: Array, first: NDArray[np.int64], number: NDArray[np.int64]
) -> LumpSums:
    """Sums over frozen tokens; `first` has the places of lumps, for `number` see `LumpSums`."""
    count, d, frozen = number.size, x.shape[1], system.frozen_weights.size
    some = number.max() + 1
    weights, held, query = np.empty((count, some)), np.empty((frozen, some)), np.empty(d)
    totals = np.zeros((1 + d + d * (d + 1) // 2, some))
    sums = LumpSums(number, np.empty((d, some)), np.empty(some), weights, totals)
    for g in range(count):
        i, here, shift = number[g], x[first[g]], 0.0
        if i < 0:
            continue
        for c in range(d):
            sums.place[c, i], query[c] = here[c], 0.0
            for e in range(d):
                query[c] += system.query[c, e] * here[e]
        for j in range(count):
            weights[j, i] = _score(query, x[first[j]], here)
            shift = max(shift, weights[j, i])
        for j in range(frozen):
            held[j, i] = _score(query, system.frozen[j], here)
            shift = max(shift, held[j, i])
        for j in range(count):
            weights[j, i] = exp2(weights[j, i] - shift)
        for j in range(frozen):
            held[j, i] = system.frozen_weights[j] * exp2(held[j, i] - shift)
        sums.own[i] = weights[g, i]
    for j in range(frozen):
        add(sums, held[j], system.frozen[j])
    return sums


@njit()
def _score(query: Array, x: Array, here: Array) -> float:
    """The score of a token at x for a query at `here`, relative to that of one there."""
    score = 0.0
    for c in range(query.size):
        score += query[c] * (x[c] - here[c])
    return score


@njit()
def add(sums: LumpSums, weights: Array, x: Array) -> None:
    """Add a token at x to the sums; each of the G lumps has a weight for it."""
    d, size = x.size, weights.size
    total = sums.totals[0]
    for i in range(size):
        total[i] += weights[i]
    row = 1 + d
    for c in range(d):
        first, place = sums.totals[1 + c], sums.place[c]
        for i in range(size):
            first[i] += weights[i] * (x[c] - place[i])
        for e in range(c + 1):
            second, other = sums.totals[row], sums.place[e]
            for i in range(size):
                second[i] += weights[i] * (x[c] - place[i]) * (x[e] - other[i])
            row += 1


@njit(error_model="numpy")
def set_mean(sums: LumpSums, i: int, here: Array, mean: Array) -> None:
    """Set μ, relative to the token itself, of a token in lump number i."""
    total = sums.totals[0, i]
    inverse = 1.0 / (sums.own[i] + total)
    for c in range(here.size):
        mean[c] = inverse * (sums.totals[1 + c, i] + total * (sums.place[c, i] - here[c]))


@njit(error_model="numpy")
def set_moment(sums: LumpSums, i: int, here: Array, mean: Array, moment: Array) -> float:
    """Set M − μμᵀ of a token in lump number i, which has this μ; returns p_kk."""
    d, totals, place = here.size, sums.totals, sums.place
    inverse, row = 1.0 / (sums.own[i] + totals[0, i]), 1 + d
    for c in range(d):
        gap = place[c, i] - here[c]
        for e in range(c + 1):
            other = place[e, i] - here[e]
            mixed = totals[1 + c, i] * other + gap * (totals[1 + e, i] + totals[0, i] * other)
            moment[c, e] = inverse * (totals[row, i] + mixed) - mean[c] * mean[e]
            moment[e, c] = moment[c, e]
            row += 1
    return float(sums.own[i] * inverse)


@njit()
def spread(sums: LumpSums, i: int) -> float:
    """The sum of weights times squares of distances from lump number i."""
    total, d = 0.0, sums.place.shape[0]
    for c in range(d):
        total += sums.totals[1 + d + c * (c + 3) // 2, i]
    return float(total)
