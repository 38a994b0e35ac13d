"""Brownian paths that do not depend on the step size: trees of midpoints, drawn by counters.

The increments of a path W over intervals of length `root` are independent. Half-way an interval of
length w, W is the mean of its ends plus a normal number of variance w/4, and so on for both halves.
Each of these numbers is a function of the seed, the token, the depth of the interval in the tree
and its place there. So a path has no finest grid, and its bits depend neither on the steps that
ask for it nor on the order in which threads do.

The generator is Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random
numbers: as easy as 1, 2, 3 (2011). Its four words become four normal numbers by the method of
Box and Muller. Words have 32 bits, so no number exceeds 6.8.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

Words = NDArray[np.uint64]

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_UNIT = 2.0**-32

ROOT = 255
"""The depth that stands for the increments over whole roots."""

PART = 128
"""Added to a depth for the numbers with which an interval is cut anywhere."""

EVERYONE = 2**32 - 1
"""The token whose path all tokens have in common."""


class BrownianNoise(NamedTuple):
    """The noise of a run: its size, and the key of its random numbers."""

    scale: float  # √(2/κ)
    common: bool  # whether all tokens have the same path
    root: float  # a power of two
    key: Words  # (2,): two words of 32 bits


class Span(NamedTuple):
    """A part of a path: some of the equal cells of an interval, a power of two of them."""

    start: float
    width: float  # start is a multiple of it, and it is root/2^m
    cells: int
    first: int  # the first cell that counts
    last: int  # the first that does not
    part: float  # how much of that one counts all the same, between 0 and 1


@njit()
def philox(words: Words, key: Words) -> None:
    """Encrypt four words of 32 bits, in place."""
    a, b, c, d = words[0], words[1], words[2], words[3]
    k, m = key[0], key[1]
    for _ in range(10):
        left, right = _MULTIPLIERS[0] * a, _MULTIPLIERS[1] * c
        a, c = (right >> _HALF) ^ b ^ k, (left >> _HALF) ^ d ^ m
        b, d = right & _LOW, left & _LOW
        k, m = (k + _WEYL[0]) & _LOW, (m + _WEYL[1]) & _LOW
    words[0], words[1], words[2], words[3] = a, b, c, d


@njit()
def normals(
    noise: BrownianNoise, token: int, depth: int, place: int, words: Words, out: Array
) -> None:
    """Set `out` to the normal numbers of a place in the tree; `words` is a working array."""
    for first in range(0, out.size, 4):
        words[0] = np.uint64(token)
        words[1] = np.uint64(256 * (first // 4) + depth)
        words[2] = np.uint64(place) & _LOW
        words[3] = np.uint64(place) >> _HALF
        philox(words, noise.key)
        for i in range(0, min(4, out.size - first), 2):
            size = math.sqrt(-2.0 * math.log((float(words[i]) + 0.5) * _UNIT))
            angle = 2.0 * math.pi * _UNIT * float(words[i + 1])
            out[first + i] = size * math.cos(angle)
            if first + i + 1 < out.size:
                out[first + i + 1] = size * math.sin(angle)


@njit()
def increments(
    noise: BrownianNoise, token: int, span: Span, words: Words, normal: Array, out: Array
) -> None:
    """Set rows of `out` to the increments of a path over all cells of a span, (cells, d)."""
    d = out.shape[1]
    place, above, width = int(span.start / span.width), 0, span.width
    while width < noise.root:
        width *= 2.0
        above += 1
    normals(noise, token, ROOT, place >> above, words, normal)
    for c in range(d):
        out[0, c] = math.sqrt(width) * normal[c]
    for depth in range(above):  # from the root down to the interval
        normals(noise, token, depth, place >> (above - depth), words, normal)
        side = 0.5 if (place >> (above - depth - 1)) & 1 == 0 else -0.5
        for c in range(d):
            out[0, c] = 0.5 * out[0, c] + side * math.sqrt(width) * normal[c]
        width *= 0.5
    count, depth = 1, above
    while count < span.cells:  # and on to its cells
        for i in range(count):
            parent = count - 1 - i
            normals(noise, token, depth, count * place + parent, words, normal)
            for c in range(d):
                half, bend = 0.5 * out[parent, c], 0.5 * math.sqrt(width) * normal[c]
                out[2 * parent + 1, c] = half - bend
                out[2 * parent, c] = half + bend
        width *= 0.5
        count *= 2
        depth += 1
    if span.part > 0.0:  # a bridge to the place where the last cell is cut
        normals(noise, token, PART + depth, count * place + span.last, words, normal)
        spread = math.sqrt(span.part * (1.0 - span.part) * width)
        for c in range(d):
            out[span.last, c] = span.part * out[span.last, c] + spread * normal[c]


@njit()
def _follow(x: Array, step: Array, scale: float) -> None:
    """Move a unit vector along the geodesic that begins in the direction P_x step."""
    radial, square = 0.0, 0.0
    for c in range(step.size):
        radial += x[c] * step[c]
    for c in range(step.size):
        along = step[c] - radial * x[c]
        square += along * along
    length = math.sqrt(square)
    angle = scale * length
    near, far = math.cos(angle), math.sin(angle) / length if length > 0.0 else 0.0
    for c in range(step.size):
        x[c] = near * x[c] + far * (step[c] - radial * x[c])


@njit(allocates=True, apart=True)
def scatter_rows(noise: BrownianNoise, x: Array, d: int, span: Span, lo: int, hi: int) -> None:
    """Move the tokens lo ≤ k < hi of a state by the noise of a span."""
    if noise.scale == 0.0 or (span.first >= span.last and span.part == 0.0):
        return
    words, normal = np.empty(4, dtype=np.uint64), np.empty(d)
    path = np.empty((span.cells, d))
    for k in range(lo, hi):
        if k == lo or not noise.common:
            increments(noise, EVERYONE if noise.common else k, span, words, normal, path)
        row = x[k, :d]
        for cell in range(span.first, span.last + (1 if span.part > 0.0 else 0)):
            _follow(row, path[cell], noise.scale)
        square = 0.0
        for c in range(d):
            square += row[c] * row[c]
        for c in range(d):
            row[c] /= math.sqrt(square)
