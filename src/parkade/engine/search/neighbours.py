"""Which tokens are close to each other: compiled searches over tokens and times of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

Indices = NDArray[np.int64]

_SURE = 1e-9  # scalar products farther than this from cos r decide which tokens are near


@njit()
def _square(x: Array, y: Array) -> float:
    """|x − y|², from differences, so that it is accurate for close tokens."""
    total = 0.0
    for c in range(x.size):
        total += (x[c] - y[c]) ** 2
    return total


@njit()
def _near(x: Array, i: int, j: int, sine: float, cosine: float) -> bool:
    """Whether tokens i and j are at most r apart, with sine and cosine those of r/2 (squared).

    tan²(angle/2) = |x − y|²/|x + y|² keeps its precision near 0 and near π.
    """
    minus, plus = 0.0, 0.0
    for c in range(x.shape[1]):
        minus += (x[i, c] - x[j, c]) ** 2
        plus += (x[i, c] + x[j, c]) ** 2
    return minus * cosine <= plus * sine


@njit(allocates=True)
def components(x: Array, radius: float) -> Indices:
    """Connected components of "at most `radius` apart", named by their first token."""
    n = x.shape[0]
    sine, cosine = np.sin(radius / 2) ** 2, np.cos(radius / 2) ** 2
    labels = np.full(n, -1)
    waiting = np.arange(n)  # tokens without a label, in the first `left` places
    left = n
    queue = np.empty(n, dtype=np.int64)
    for first in range(n):
        if labels[first] >= 0:
            continue
        labels[first] = first
        queue[0] = first
        begin, end = 0, 1
        while begin < end:
            k = queue[begin]
            begin += 1
            i = 0
            while i < left:
                j = waiting[i]
                if labels[j] >= 0 or _near(x, k, j, sine, cosine):
                    if labels[j] < 0:
                        labels[j] = first
                        queue[end] = j
                        end += 1
                    # A token with a label is never looked at again: tight clusters are cheap.
                    left -= 1
                    waiting[i] = waiting[left]
                else:
                    i += 1
    return labels


@njit()
def _companion(x: Array, j: int, chord: float, guess: int) -> int:
    """A token before j at a squared chord of at most `chord`, or -1; `guess` is tried first."""
    if _square(x[guess], x[j]) <= chord:
        return guess
    for i in range(j):
        if _square(x[i], x[j]) <= chord:
            return i
    return -1


@njit()
def _returns(
    times: Array, tokens: Array, j: int, to: int, since: int, until: float, chord: float
) -> bool:
    """Whether token j is near token `to` again at some index from `since` to time `until`.

    If the run ends before that, the answer is yes.
    """
    for i in range(since, times.size):
        if times[i] > until:
            return False
        if _square(tokens[i, to], tokens[i, j]) <= chord:
            return True
    return True


@njit(allocates=True)
def last_alone(times: Array, tokens: Array, chord: float, persistence: float) -> Indices:
    """For each token, the last index of its last lasting time alone; -1 if there is none.

    A token is alone while it is farther than `chord` (squared) from every earlier one. Such a
    time lasts if it begins at the start, if it goes on from t to `persistence`·t or longer, or
    if the token does not return, before as long again, to the one it left. The first token is
    alone to the end.
    """
    steps, n = times.size, tokens.shape[1]
    last = np.full(n, -1)
    last[0] = steps - 1
    for j in range(1, n):
        guess = 0
        i = steps - 1
        while i >= 0 and last[j] < 0:
            companion = _companion(tokens[i], j, chord, guess)
            if companion >= 0:
                guess = companion
                i -= 1
                continue
            end = i
            back = times[min(end + 1, steps - 1)]
            while companion < 0 and last[j] < 0:
                if i == 0 or times[i] * persistence <= back:
                    last[j] = end
                else:
                    i -= 1
                    companion = _companion(tokens[i], j, chord, guess)
            if companion >= 0 and not _returns(
                times, tokens, j, companion, end + 1, persistence * back, chord
            ):
                last[j] = end
    return last


@njit(allocates=True)
def nearest_earlier(x: Array, token: Indices) -> tuple[Indices, Array]:
    """In each configuration x[i], the token nearest to token[i] > 0 among the earlier ones.

    Returns their indices and squared chords.
    """
    nearest = np.zeros(token.size, dtype=np.int64)
    squares = np.full(token.size, np.inf)
    for i in range(token.size):
        for k in range(token[i]):
            square = _square(x[i, k], x[i, token[i]])
            if square < squares[i]:
                nearest[i], squares[i] = k, square
    return nearest, squares


@njit(allocates=True)
def count_near(tokens: Array, centers: Indices, radius: float) -> Indices:
    """How many tokens of each configuration lie within `radius` of one of the `centers`."""
    steps, n, d = tokens.shape
    sine, cosine = np.sin(radius / 2) ** 2, np.cos(radius / 2) ** 2
    level = cosine - sine  # cos r
    counts = np.zeros(steps, dtype=np.int64)
    columns, dots, nearest = np.empty((d, n)), np.empty(n), np.empty(n)
    for t in range(steps):
        for k in range(n):
            nearest[k] = -2.0
            for c in range(d):
                columns[c, k] = tokens[t, k, c]
        for center in centers:  # all tokens at once, in vector registers
            for k in range(n):
                dots[k] = 0.0
            for c in range(d):
                place, column = tokens[t, center, c], columns[c]
                for k in range(n):
                    dots[k] += place * column[k]
            for k in range(n):
                nearest[k] = max(nearest[k], dots[k])
        for k in range(n):
            if nearest[k] > level + _SURE:
                counts[t] += 1
            elif nearest[k] >= level - _SURE:
                for center in centers:
                    if _near(tokens[t], k, center, sine, cosine):
                        counts[t] += 1
                        break
    return counts
