"""The direction of e^{tV}x, computed with as many digits as a nearly defective V needs."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.model.sphere import normalize

_FIRST = 50
"""Digits beyond those of |t|·‖V‖ at first; they are doubled until the result is stable."""

_AGREE = 1e-13
"""Two results that differ by at most this are equal."""


def directions(V: Array, x: Array, times: Array) -> Array:
    """e^{tV}x/|e^{tV}x| for these V and x, taken as exact, up to errors of 1e-13: (T, d).

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.theory.digits import directions
    >>> V, x = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([0.0, 1.0])
    >>> directions(V, x, np.array([0.0, 1e3])).round(6).tolist()
    [[0.0, 1.0], [1.0, 0.001]]
    """
    path = np.empty((len(times), len(x)))
    for sign in (-1.0, 1.0):
        chosen = times < 0 if sign < 0 else times >= 0
        if chosen.any():
            path[chosen] = _forward(sign * V, x, np.abs(times[chosen]))
    return path


def _forward(V: Array, x: Array, times: Array) -> Array:
    """`directions` for times ≥ 0."""
    norm = float(np.linalg.norm(V, 2))
    digits = _FIRST + max(0, math.ceil(math.log10(max(1.0, norm * float(times.max())))))
    previous = _rounded(V, x, times, digits)
    while True:
        digits *= 2
        result = _rounded(V, x, times, digits)
        if np.abs(result - previous).max() <= _AGREE:
            return result
        previous = result


def _rounded(V: Array, x: Array, times: Array, digits: int) -> Array:
    """`directions` for times ≥ 0 with this number of digits.

    Powers come from repeated squaring; the binary digits of the times choose among them.
    """
    with localcontext(Context(prec=digits, Emax=10**15, Emin=-(10**15))):
        m, y = (np.vectorize(Decimal, otypes=[object])(a) for a in (V, x))
        norm = float(np.linalg.norm(V, 2))
        unit = Decimal(2) ** (math.floor(-math.log2(norm)) - 1 if norm > 0 else 0)  # ‖V‖·unit ≤ 1/2
        parts = [divmod(Decimal(t), unit) for t in times.tolist()]
        powers = [_series(m * unit, np.eye(len(V), dtype=int) * Decimal(1), digits)]
        while len(powers) < max(int(whole).bit_length() for whole, _ in parts):
            powers.append(_scaled(powers[-1] @ powers[-1]))
        return np.array([_one(m * rest, y, int(whole), powers, digits) for whole, rest in parts])


def _one(m: Any, y: Any, whole: int, powers: list[Any], digits: int) -> Array:
    """The direction of e^m y, multiplied by the `powers` whose binary digit in `whole` is 1."""
    y = _series(m, y, digits)
    for k, power in enumerate(powers):
        if whole >> k & 1:
            y = _scaled(power @ y)
    return normalize(_scaled(y).astype(float))


def _series(m: Any, y: Any, digits: int) -> Any:
    """e^m y for ‖m‖ ≤ 1/2."""
    total, term, k = y, y, 0
    least = Decimal(10) ** -digits
    while np.abs(term).max() > least:
        k += 1
        term = m @ term / k
        total = total + term
    return total


def _scaled(y: Any) -> Any:
    """`y` scaled so that its largest entry is between 1 and 10."""
    return y * Decimal(10) ** -np.abs(y).max().adjusted()
