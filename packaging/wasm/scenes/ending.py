"""The end of a run, and whether it is as predicted: the numbers of the page's line on theory."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scenes.final import FinalNumbers
from scenes.run import Indices, SceneRun, turn

from parkade.analysis.ending import APART, AT, DISTINCT, FIRM, SIDE, UNIFORM, WITHIN
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search.neighbours import components
from parkade.explorer.scenes.theory_line import MOST_RESTING
from parkade.explorer.standalone.shared import AGREES
from parkade.theory.table import CASES

_PLANE, _LINE = UNIFORM[2], UNIFORM[1]
_PUSH = 1e-6

UNDECIDED = AGREES.index(None)

_POINT, _POINTS, _CLOUD, _ROTATION, _OTHER = range(5)
_NUMBERS = {
    "one point": _POINT,
    "two points": _POINTS,
    "cloud": _CLOUD,
    "two clouds": _CLOUD,
    "rotation": _ROTATION,
}
_KINDS = tuple(_NUMBERS.get(case.kind, _OTHER) for case in CASES)


class EndingModel(NamedTuple):
    """A model with one causal head."""

    product: Array  # (d, d): KᵀQ
    value: Array  # (d, d): V
    beta: float
    rate: float  # |V|
    sharpness: float  # β|KᵀQ|


@njit()
def distance(x: Array, y: Array) -> float:
    """The angle between two tokens."""
    minus, plus = 0.0, 0.0
    for c in range(x.size):
        minus += (x[c] - y[c]) ** 2
        plus += (x[c] + y[c]) ** 2
    return 2.0 * math.atan2(math.sqrt(minus), math.sqrt(plus))


@njit()
def farthest(tokens: Array, points: Array) -> float:
    """The largest distance of a token from the nearest of the points."""
    result = 0.0
    for k in range(tokens.shape[0]):
        nearest = np.inf
        for j in range(points.shape[0]):
            nearest = min(nearest, distance(tokens[k], points[j]))
        result = max(result, nearest)
    return result


@njit()
def closest(points: Array) -> float:
    """The smallest distance between two of the points; π if there is only one."""
    result = math.pi
    for i in range(points.shape[0]):
        for j in range(i):
            result = min(result, distance(points[i], points[j]))
    return result


@njit(allocates=True)
def angles(tokens: Array, basis: Array, dim: int) -> Array:
    """The angle between each token and the span of the first columns of a basis."""
    n, d = tokens.shape
    result = np.empty(n)
    for k in range(n):
        inner, outer = 0.0, 0.0
        outside = tokens[k].copy()
        for c in range(dim):
            product = 0.0
            for r in range(d):
                product += tokens[k, r] * basis[r, c]
            inner += product * product
            for r in range(d):
                outside[r] -= product * basis[r, c]
        for r in range(d):
            outer += outside[r] ** 2
        result[k] = math.atan2(math.sqrt(outer), math.sqrt(inner))
    return result


@njit(allocates=True)
def at_points(first: Array, end: Array, basis: Array, projection: Array, two: bool) -> bool:
    """Whether all tokens are at the limit of the first one, or at the opposite point."""
    d = first.size
    points = np.zeros((2 if two else 1, d))
    square, size = 0.0, 0.0
    for r in range(d):
        for c in range(d):
            points[0, r] += projection[r, c] * first[c]
            size = max(size, abs(projection[r, c]))
        square += points[0, r] ** 2
    if math.sqrt(square) <= 1e-14 * size:  # rounding errors, which have no direction
        if not two:
            return False
        square = 1.0
        for r in range(d):
            points[0, r] = basis[r, 0]
    for r in range(d):
        points[0, r] /= math.sqrt(square)
        if two:
            points[1, r] = -points[0, r]
    return farthest(end, points) < AT


@njit(allocates=True)
def is_cloud(end: Array, basis: Array, dim: int) -> bool:
    """Whether tokens on S² form one cloud around a plane, or two clouds around a line."""
    n = end.shape[0]
    total, above = 0.0, 0
    for angle in angles(end, basis, dim):
        total += angle
    for k in range(n):
        product = 0.0
        for r in range(3):
            product += end[k, r] * basis[r, 0]
        above += product > 0.0
    near = total / n < (_LINE if dim == 1 else _PLANE)
    sides = dim > 1 or min(above, n - above) / n >= SIDE
    labels = components(end, APART)
    distinct = 0
    for k in range(n):
        distinct += labels[k] == k
    return near and sides and distinct / n >= DISTINCT


@njit()
def _velocity(model: EndingModel, tokens: Array, k: int, y: Array, room: Array) -> None:
    """Set room[0] to the velocity of token k, placed at y, among the earlier tokens."""
    d = y.size
    out, query, mean = room[0], room[1], room[2]
    for r in range(d):
        query[r], mean[r] = 0.0, 0.0
        for c in range(d):
            query[r] += model.beta * model.product[r, c] * y[c]
    top = -np.inf
    for j in range(k + 1):
        score = 0.0
        for c in range(d):
            score += query[c] * (y[c] if j == k else tokens[j, c])
        top = max(top, score)
    total = 0.0
    for j in range(k + 1):
        score = -top
        for c in range(d):
            score += query[c] * (y[c] if j == k else tokens[j, c])
        weight = math.exp(score)
        total += weight
        for c in range(d):
            mean[c] += weight * (y[c] if j == k else tokens[j, c])
    radial = 0.0
    for r in range(d):
        out[r] = 0.0
        for c in range(d):
            out[r] += model.value[r, c] * mean[c] / total
        radial += out[r] * y[r]
    for r in range(d):
        out[r] -= radial * y[r]


@njit()
def _tangent(x: Array, basis: Array) -> None:
    """Set the rows of `basis` to an orthonormal basis of the tangent space, for d = 2 and 3."""
    if x.size == 2:
        basis[0, 0], basis[0, 1] = -x[1], x[0]
        return
    least = 0
    for c in range(1, 3):
        least = c if abs(x[c]) < abs(x[least]) else least
    a, b = (least + 1) % 3, (least + 2) % 3
    size = math.sqrt(x[a] ** 2 + x[b] ** 2)
    basis[0, least], basis[0, a], basis[0, b] = 0.0, -x[b] / size, x[a] / size
    for c in range(3):
        i, j = (c + 1) % 3, (c + 2) % 3
        basis[1, c] = x[i] * basis[0, j] - x[j] * basis[0, i]


@njit()
def _return_rate(model: EndingModel, tokens: Array, k: int, room: Array) -> float:
    """The rate at which token k returns after a small push; negative if it does not."""
    d = tokens.shape[1]
    basis, block, y = room[3:5], room[5:7], room[7]
    _tangent(tokens[k], basis)
    for i in range(d - 1):
        for j in range(d - 1):
            block[i, j] = 0.0
    for j in range(d - 1):
        for sign in (1.0, -1.0):
            square = 0.0
            for c in range(d):
                y[c] = tokens[k, c] + sign * _PUSH * basis[j, c]
                square += y[c] ** 2
            for c in range(d):
                y[c] /= math.sqrt(square)
            _velocity(model, tokens, k, y, room)
            for i in range(d - 1):
                for c in range(d):
                    block[i, j] += sign * room[0, c] * basis[i, c] / (2 * _PUSH)
    if d == 2:
        return -block[0, 0]
    mean = (block[0, 0] + block[1, 1]) / 2
    half = (block[0, 0] - block[1, 1]) / 2
    square = half * half + block[0, 1] * block[1, 0]
    return -(mean + math.sqrt(square)) if square > 0 else -mean


@njit(allocates=True)
def rests(model: EndingModel, tokens: Array) -> bool:
    """Whether tokens are near a stable equilibrium and do not leave it; False for many tokens."""
    n, d = tokens.shape
    if n > MOST_RESTING:
        return False
    room = np.zeros((8, d))
    fastest = 0.0
    for k in range(n):
        _velocity(model, tokens, k, tokens[k], room)
        for c in range(d):
            fastest = max(fastest, abs(room[0, c]))
    # No token returns faster than this: a quick check that rules out most runs.
    if not fastest < 1e-3 * WITHIN * model.rate * (2 + 2 * model.sharpness):
        return False
    slowest = np.inf
    for k in range(1, n):
        slowest = min(slowest, _return_rate(model, tokens, k, room))
    return slowest > FIRM and fastest < 1e-3 * WITHIN * slowest


@njit(allocates=True)
def tokens_at(tokens: Array, which: Indices) -> Array:
    """The tokens with these indices."""
    out = np.empty((which.size, tokens.shape[1]))
    for i in range(which.size):
        for c in range(tokens.shape[1]):
            out[i, c] = tokens[which[i], c]
    return out


@njit(allocates=True)
def verdict(case: int, start: Array, end: Array, final: FinalNumbers) -> int:
    """Whether the end is as predicted: 0 for no, 1 for yes, or `UNDECIDED`."""
    kind, dim, d = _KINDS[case], int(final.numbers[4]), end.shape[1]
    if kind in (_POINT, _POINTS):
        points = kind == _POINTS
        return int(at_points(start[0], end, final.basis, final.projection, points))
    if kind == _CLOUD:
        # What counts as a cloud is measured on S² only.
        return int(is_cloud(end, final.basis, dim)) if d == 3 and dim < 3 else UNDECIDED
    if kind == _ROTATION and largest(angles(end, final.basis, dim)) < AT:
        return 1
    return UNDECIDED


@njit()
def largest(values: Array) -> float:
    """The largest value of an array."""
    result = values[0]
    for i in range(values.size):
        result = max(result, values[i])
    return result


@njit(allocates=True)
def judge(model: EndingModel, run: SceneRun, final: FinalNumbers, causal: bool, out: Array) -> None:
    """Set `out` to the largest angle from L in degrees, and the verdict on a run."""
    last = run.times.size - 1
    start, end = run.tokens[0], run.tokens[last].copy()
    turn(run, run.times[last], end)
    case, dim = int(final.numbers[0]), int(final.numbers[4])
    out[0] = largest(angles(end, final.basis, dim)) * (180.0 / math.pi)
    out[1] = verdict(case, start, end, final) if causal else UNDECIDED
    # Tokens on their way to a point are no counterexample, unless they rest elsewhere.
    if out[1] == 0 and _KINDS[case] != _CLOUD and not rests(model, end):
        out[1] = UNDECIDED
