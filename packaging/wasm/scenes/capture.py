"""The window of Theorem 5.2 for frozen centres: the ε that fit, as in `capture_window`."""

from __future__ import annotations

import math

import numpy as np
from scenes.ending import closest, farthest, tokens_at
from scenes.run import Indices

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.theory.conditions import GRID, LEAST, log_bound

_RATIOS, _STEPS = GRID
_log_bound = njit()(log_bound)  # compiled here


@njit()
def _fits(c: float, eps: float, beta: float, N: float) -> bool:
    return _log_bound(c, eps, beta) - math.log(N) > 0


@njit()
def _edge(good: float, bad: float, c: float, beta: float, N: float) -> float:
    """The last ε that fits between `good`, which fits, and `bad`, up to rounding."""
    for _ in range(200):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        if _fits(c, middle, beta, N):
            good = middle
        else:
            bad = middle
    return good


@njit(allocates=True)
def _grid(top: float) -> Array:
    """All ε to be tried, in increasing order."""
    grid = np.empty(_RATIOS + _STEPS - 1)
    bottom = math.log10(LEAST)
    part = (math.log10(top) - bottom) / (_RATIOS - 1)
    i, j, count = 0, 1, 0
    while i < _RATIOS or j < _STEPS:  # two increasing lists as one
        first = 10.0 ** (i * part + bottom) if i < _RATIOS - 1 else top
        first = LEAST if i == 0 else first if i < _RATIOS else np.inf
        second = j * (top / (_STEPS - 1)) if j < _STEPS - 1 else top
        second = second if j < _STEPS else np.inf
        grid[count] = min(first, second)
        i, j = i + (first <= second), j + (second <= first)
        count += 1
    return grid[:count]


@njit(allocates=True)
def window(c: float, beta: float, N: float, out: Array) -> bool:
    """Set `out` to ε and the interval around it in which the theorem holds; False if none."""
    top = c / 2 - 1
    if top <= 0:
        return False
    grid = _grid(top)
    best, most = 0, -np.inf
    for i in range(grid.size):
        slack = _log_bound(c, grid[i], beta) - math.log(N)
        if slack > most:
            best, most = i, slack
    if not most > 0:
        return False
    low, high = best, best
    while low > 0 and _fits(c, grid[low - 1], beta, N):
        low -= 1
    while high < grid.size - 1 and _fits(c, grid[high + 1], beta, N):
        high += 1
    out[0] = grid[best]
    out[1] = _edge(grid[low], grid[low - 1], c, beta, N) if low > 0 else grid[0]
    out[2] = grid[high]
    if high < grid.size - 1:
        out[2] = _edge(grid[high], grid[high + 1], c, beta, N)
    return True


@njit(allocates=True)
def capture(start: Array, end: Array, held: Indices, beta: float, out: Array) -> bool:
    """Set `out` to how near free tokens come to frozen ones, N, c, ε and its interval, if any."""
    frozen, free = tokens_at(start, held), np.empty(start.shape[0] - held.size, dtype=np.int64)
    i = 0
    for k in range(start.shape[0]):
        if i < held.size and held[i] == k:
            i += 1
        else:
            free[k - i] = k
    out[0] = farthest(tokens_at(end, free), frozen)
    out[1], out[2] = start.shape[0], closest(frozen) * math.sqrt(beta)
    return window(out[2], beta, out[1], out[3:])
