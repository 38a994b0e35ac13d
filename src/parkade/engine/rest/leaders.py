"""Tokens at rest: which may rest on an earlier token, and whether those that do would move.

Late in a run only the leaders of clusters move. Every other token follows its leader, at the
distance |F_k − F_u| / rate: F_k and F_u are the velocities of the token and of its leader if both
are at the same place, and `rate` is how fast the token returns to its leader (its own block of the
Jacobian). Where this distance is far below the tolerance, a token *rests*: it is left out of the
steps, and counts as one more follower of its leader in all sums (`System.followers`).

Nothing is assumed of Q, K, V, masks or norms: velocities and blocks are those of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

CLOSE = 0.1
"""A token may rest if it is this close to its leader, in units of tol."""

_SLOWEST = 0.05  # the slowest return to a leader that counts, in units of the rate of the model
_RATES = (0.4, 0.2, 0.1, _SLOWEST)


@njit(allocates=True)
def find_leaders(x: Array, d: int, close: float, leader: NDArray[np.int64]) -> int:
    """Find tokens that are close to an earlier one, and return how many there are.

    A token leads if no earlier one that leads is within `close`, a chord. `leader` is set to the
    first one that leads within it, or to the token itself.
    """
    n = x.shape[0]
    cells = 16
    while cells < 2 * n:
        cells *= 2
    last = np.full(cells, -1)  # the last leader in the cells of a number
    previous = np.empty(n, dtype=np.int64)  # the one before it in the same cells
    first, second = _widest(x, d)
    followers = 0
    for k in range(n):
        a, b = np.floor(x[k, first] / close), np.floor(x[k, second] / close)
        nearest = k
        for i in range(-1, 2):
            for j in range(-1, 2):
                u = last[_cell(a + i, b + j, cells)]
                while u >= 0:
                    if u < nearest and _square(x, u, k, d) <= close * close:
                        nearest = u
                    u = previous[u]
        leader[k] = nearest
        if nearest < k:
            followers += 1
        else:
            here = _cell(a, b, cells)
            last[here], previous[k] = k, last[here]
    return followers


@njit()
def _cell(a: float, b: float, cells: int) -> int:
    """The number of a cell in the plane; `cells` is a power of two."""
    mixed = int(a) * 73856093 ^ int(b) * 19349663
    return (mixed ^ (mixed >> 17)) & (cells - 1)


@njit()
def _square(x: Array, j: int, k: int, d: int) -> float:
    """The square of the distance of two tokens."""
    square = 0.0
    for c in range(d):
        square += (x[k, c] - x[j, c]) ** 2
    return square


@njit()
def _widest(x: Array, d: int) -> tuple[int, int]:
    """The two axes along which tokens spread most; squares of differences from the first token."""
    first, second, most, next_most = 0, 1, -1.0, -1.0
    for c in range(d):
        spread = 0.0
        for k in range(x.shape[0]):
            spread += (x[k, c] - x[0, c]) ** 2
        if spread > most:
            first, second, most, next_most = c, first, spread, most
        elif spread > next_most:
            second, next_most = c, spread
    return first, second


@njit(allocates=True)
def return_rate(block: Array, size: int, scale: float) -> float:
    """A rate at which every perturbation of a token shrinks at least; 0 if none is known.

    Rates below `_SLOWEST` in units of `scale` count as 0. The block is that of the Jacobian; only
    its first rows and columns, `size` of them, count.
    """
    bound = -np.inf  # Gershgorin, for the symmetric part
    for i in range(size):
        radius = block[i, i]
        for j in range(size):
            if j != i:
                radius += 0.5 * abs(block[i, j] + block[j, i])
        if not radius <= bound:  # not max(): a NaN must not vanish
            bound = radius
    factor = np.empty((size, size))
    for rate in _RATES:
        if -bound >= rate * scale:
            return float(-bound)
        if _is_definite(block, rate * scale, factor):
            return rate * scale
    return 0.0


@njit()
def _is_definite(block: Array, rate: float, factor: Array) -> bool:
    """Whether −rate − (J + Jᵀ)/2 is positive definite, by Cholesky's factors."""
    for i in range(factor.shape[0]):
        for j in range(i + 1):
            total = -0.5 * (block[i, j] + block[j, i])
            if i == j:
                total -= rate
            for e in range(j):
                total -= factor[i, e] * factor[j, e]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[i, i] = np.sqrt(total)
            else:
                return False
    return True


@njit(allocates=True)
def set_lags(
    x: Array,
    velocity: Array,
    blocks: Array,
    scales: Array,
    d: int,
    leader: NDArray[np.int64],
    lag: Array,
) -> None:
    """Set how far each token is from its leader, or would be; infinite if it does not return.

    Where tokens have lengths, it is at least the relative difference of their growth, which is
    what the lengths differ by in the end. Tokens that are their own leader have 0.
    """
    for k in range(leader.size):
        lag[k] = 0.0
        u = leader[k]
        if u == k:
            continue
        gap, apart = 0.0, 0.0
        for c in range(d):
            gap += (x[k, c] - x[u, c]) ** 2
            apart += (velocity[k, c] - velocity[u, c]) ** 2
        rate = return_rate(blocks[k], d - 1, scales[k])
        lag[k] = np.sqrt(gap) + np.sqrt(apart) / rate if rate > 0.0 else np.inf
        if x.shape[1] > d:
            growth, other = np.exp(x[k, d]) * velocity[k, d], np.exp(x[u, d]) * velocity[u, d]
            if growth != other:
                lag[k] = max(lag[k], abs(growth - other) / max(abs(growth), abs(other)))


@njit(allocates=True)
def count_followers(
    moving: NDArray[np.int64], rows: NDArray[np.int64], number: NDArray[np.int64], counts: Array
) -> None:
    """Count the tokens before each moving one that rest on others: (leaders, moving tokens).

    Token k is at the place rows[k] of a moving token, whose number among the leaders is
    number[rows[k]].
    """
    total = np.zeros(counts.shape[0])
    for k in range(rows.size):
        row = rows[k]
        if moving[row] == k:
            for i in range(total.size):
                counts[i, row] = total[i]
        else:
            total[number[row]] += 1.0
