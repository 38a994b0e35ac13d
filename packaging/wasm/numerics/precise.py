"""Numbers with twice the digits of a float: unevaluated sums of a large float and a small one.

See T. Dekker, A floating-point technique for extending the available precision (1971).
"""

from __future__ import annotations

from typing import TypeAlias

from parkade.engine.compile.jit import njit

Wide: TypeAlias = tuple[float, float]

_SPLIT = 134217729.0  # 2²⁷ + 1


@njit()
def _tidy(high: float, low: float) -> Wide:
    total = high + low
    return total, low - (total - high)


@njit()
def _sum(a: float, b: float) -> Wide:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit()
def _product(a: float, b: float) -> Wide:
    total = a * b
    big, other = _SPLIT * a, _SPLIT * b
    a1, b1 = big - (big - a), other - (other - b)
    a2, b2 = a - a1, b - b1
    return total, ((a1 * b1 - total) + a1 * b2 + a2 * b1) + a2 * b2


@njit()
def plus(a: Wide, b: Wide) -> Wide:
    """The sum of two numbers; its error is small even if terms cancel."""
    high, low = _sum(a[0], b[0])
    more, least = _sum(a[1], b[1])
    high, low = _tidy(high, low + more)
    return _tidy(high, low + least)


@njit()
def minus(a: Wide, b: Wide) -> Wide:
    """The difference of two numbers."""
    return plus(a, (-b[0], -b[1]))


@njit()
def times(a: Wide, b: float) -> Wide:
    """The product of a number and a float."""
    high, low = _product(a[0], b)
    return _tidy(high, low + a[1] * b)


@njit()
def product(a: Wide, b: Wide) -> Wide:
    """The product of two numbers."""
    high, low = _product(a[0], b[0])
    return _tidy(high, low + (a[0] * b[1] + a[1] * b[0]))


@njit(error_model="numpy")
def ratio(a: Wide, b: Wide) -> Wide:
    """The quotient of two numbers."""
    first = a[0] / b[0]
    rest = minus(a, times(b, first))
    second = rest[0] / b[0]
    rest = minus(rest, times(b, second))
    high, low = _tidy(first, second)
    return plus((high, low), (rest[0] / b[0], 0.0))


@njit()
def fused(a: float, b: float, c: float) -> float:
    """The number a·b + c, rounded once, as by processors in products of matrices."""
    high, low = _product(a, b)
    total, rest = _sum(high, c)
    return total + (rest + low)
