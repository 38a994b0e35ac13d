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

MOST = 512
"""The most leaders that are looked for: more would take longer than the sums of a step."""

CLOSE = 0.1
"""A token may rest if it is this close to its leader, in units of tol."""

_SLOWEST = 0.05  # the slowest return to a leader that counts, in units of the rate of the model
_RATES = (0.4, 0.2, 0.1, _SLOWEST)


@njit(allocates=True)
def find_leaders(x: Array, d: int, near: float, close: float, leader: NDArray[np.int64]) -> int:
    """Find the tokens that are close to one that leads, and return how many there are.

    A token leads if no earlier one that leads is within `near`. `leader` is set to the first that
    is within `close`, or to the token itself. Distances are squares of chords.
    """
    leaders, count, followers = np.empty(MOST, dtype=np.int64), 0, 0
    for k in range(x.shape[0]):
        leads, leader[k] = count < MOST, k
        for i in range(count):
            j, square = leaders[i], 0.0
            for c in range(d):
                square += (x[k, c] - x[j, c]) ** 2
            if square <= near:
                leads = False
                if square <= close:
                    leader[k] = j
                    followers += 1
                    break
        if leads:
            leaders[count] = k
            count += 1
    return followers


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

    Tokens that are their own leader have 0.
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


@njit()
def has_moved(x: Array, start: Array, reach: float) -> bool:
    """Whether a token is farther than `reach` from where it was at first, if `reach` is not 0."""
    if reach > 0.0:
        for k in range(start.shape[0]):
            square = 0.0
            for c in range(start.shape[1]):
                square += (x[k, c] - start[k, c]) ** 2
            if square > reach * reach:
                return True
    return False
