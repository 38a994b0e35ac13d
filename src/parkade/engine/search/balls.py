"""Which tokens become centres and which lie within a ball around one: compiled, token by token.

Two tokens are within reach of each other if Σ(x_c + sign·y_c)², summed in the order of the
coordinates, is at most `bound` (sign −1) or at least it (sign +1). Every search below decides
by this one expression, so ties fall the same way in all of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

Indices = NDArray[np.int64]

BLOCKED, CENTER, STRONG = 0, 1, 2
"""What becomes of a token; a strong centre is also a centre."""

_PRIMES = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0x165667B19E3779F9),
    np.uint64(0xD6E8FEB86659FD93),
)
_SHIFT = np.uint64(32)


@njit()
def _within(x: Array, y: Array, sign: float, bound: float) -> bool:
    total = 0.0
    for c in range(x.size):
        gap = x[c] + sign * y[c]
        total += gap * gap
    return total <= bound if sign < 0 else total >= bound


@njit(allocates=True)
def mapped(x: Array, root: Array) -> Array:
    """The product of x and root, every row by itself.

    BLAS may round a row differently by its place, so that equal tokens would not stay equal.
    """
    n, d = x.shape
    out = np.zeros((n, d))
    for k in range(n):
        for j in range(d):
            for c in range(d):
                out[k, c] += x[k, j] * root[j, c]
    return out


@njit(allocates=True)
def by_scan(x: Array, sign: float, bound: float, strong: bool) -> tuple[NDArray[np.uint8], int]:
    """What becomes of each token, and the pairs looked at: centres against all tokens left."""
    n = x.shape[0]
    fate = np.zeros(n, dtype=np.uint8)
    waiting = np.arange(n)  # tokens without a centre, in order, in the first `left` places
    left = n
    looked = 0
    while left > 0:
        k = waiting[0]
        fate[k] = CENTER
        looked += left
        remaining = 0
        for i in range(left):
            j = waiting[i]
            if not _within(x[k], x[j], sign, bound):
                waiting[remaining] = j
                remaining += 1
        left = remaining
        if strong:
            j = 0
            while j < k and not _within(x[k], x[j], sign, bound):
                j += 1
            looked += j
            if j == k:
                fate[k] = STRONG
    return fate, looked


@njit()
def _slot(a: int, b: int, c: int, mask: int) -> int:
    """The place of cell (a, b, c) in the table; neighbours along c mostly follow each other."""
    mixed = np.uint64(a) * _PRIMES[0] ^ np.uint64(b) * _PRIMES[1] ^ np.uint64(c >> 5) * _PRIMES[2]
    mixed = (mixed ^ (mixed >> _SHIFT)) * _PRIMES[3]
    return (int(mixed >> _SHIFT) + (c & 31)) & mask


@njit()
def _cell(place: float, low: float, side: float) -> int:
    return math.floor((place - low) / side)


@njit(allocates=True)
def by_cells(
    x: Array, bound: float, strong: bool, axes: Indices, low: Array, side: Array, reach: float
) -> tuple[NDArray[np.uint8], int]:
    """What becomes of each token, and the pairs looked at: centres against the cells around.

    Cells divide the three coordinates `axes`; they begin at `low` and are `side` wide. A token
    has all of its ball (sign −1) within `reach` along each axis. Rounding cannot lose a token:
    it is monotone, so y ≥ x − reach lies in the cell of the rounded x − reach or after it.

    Cells are hashed into a table, so there may be any number of them, of any size. A ball may
    then also see tokens of cells elsewhere, or a token twice, which changes nothing.
    """
    n, d = x.shape
    slots = 4
    while slots < n:
        slots *= 2
    mask = slots - 1
    slot = np.empty(n, dtype=np.int64)
    begin = np.zeros(slots + 1, dtype=np.int64)
    here = np.empty(3, dtype=np.int64)
    for k in range(n):
        for i in range(3):
            here[i] = _cell(x[k, axes[i]], low[i], side[i])
        slot[k] = _slot(here[0], here[1], here[2], mask)
        begin[slot[k]] += 1
    total = 0
    for s in range(slots + 1):
        total += begin[s]
        begin[s] = total  # where slot s ends; filled from there, where it begins
    order = np.empty(n, dtype=np.int64)
    sorted_x = np.empty((n, d))
    for k in range(n - 1, -1, -1):
        begin[slot[k]] -= 1
        order[begin[slot[k]]] = k
        sorted_x[begin[slot[k]]] = x[k]

    fate = np.zeros(n, dtype=np.uint8)
    taken = np.zeros(n, dtype=np.bool_)
    first, last = here, np.empty(3, dtype=np.int64)
    looked = 0
    for k in range(n):
        if taken[k]:
            continue
        taken[k] = True
        alone = strong
        for i in range(3):
            first[i] = _cell(x[k, axes[i]] - reach, low[i], side[i])
            last[i] = _cell(x[k, axes[i]] + reach, low[i], side[i])
        for a in range(first[0], last[0] + 1):
            for b in range(first[1], last[1] + 1):
                for c in range(first[2], last[2] + 1):
                    s = _slot(a, b, c, mask)
                    looked += begin[s + 1] - begin[s]
                    for q in range(begin[s], begin[s + 1]):
                        j = order[q]
                        if j == k or (taken[j] and not (alone and j < k)):
                            continue
                        if _within(x[k], sorted_x[q], -1.0, bound):
                            taken[j] = True
                            alone = alone and j > k
        fate[k] = STRONG if alone else CENTER
    return fate, looked
