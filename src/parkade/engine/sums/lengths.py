"""The coefficients of harmonic series as functions of the length of a query.

With any Q and K, the weight of key j for token k is exp⟨a_k, x_j⟩, a_k = β KᵀQ x_k. Relative to the
largest weight possible it is exp(r(⟨y, x_j⟩ − 1)), with the direction y of the query a_k and its
length r: the weight for Q = K = I of a token at y, with β = r. So the series are those of `fourier`
and `legendre`, but with coefficients that differ from token to token. They are stored as
polynomials in r, piece by piece: CELLS pieces of equal length while 1 + r doubles.

Where the weight is bounded, so are the coefficients, as functions of a complex r too. A Chebyshev
series on a piece therefore gains a factor of 63 or more with every degree (L. N. Trefethen,
Approximation Theory and Approximation Practice, 2013, Theorem 8.2). DEGREE is exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from math import frexp

import numpy as np

from parkade.base.types import Array
from parkade.engine.sums.series import SERIES, harmonic_factors

CELLS = 16
DEGREE = 8


def _bessel(r: float, count: int, half: bool) -> list[Decimal]:
    """e^{−r} I_m(r) for m = 0 … count − 1, or e^{−r} i_l(r): by ratios, stable downwards."""
    x, more = Decimal(r), count + 20 + int(np.sqrt(8.0 * r))
    ratio = [Decimal(0)]
    for m in reversed(range(more)):
        ratio.append(1 / ((2 * m + (3 if half else 2)) / x + ratio[-1]))
    values = [Decimal(1)]
    for m in range(more - 1):
        values.append(values[-1] * ratio[-1 - m])
    # Weights have the sum 1 at angle 0, and i_0 is elementary.
    first = (1 - (-2 * x).exp()) / (2 * x) if half else 1 / (2 * sum(values, Decimal(0)) - 1)
    return [first * value for value in values[:count]]


def _fourier_columns(r: float, size: int) -> list[float]:
    """e^{−r} I_m for m = −2 … size + 1: the series of `fourier` are differences of these."""
    values = _bessel(r, size + 2, half=False)
    return [float(values[abs(m)]) for m in range(-2, size + 2)]


def _legendre_columns(r: float, top: int) -> list[float]:
    """For l = 0 … L: g_l = a_l/r (but g_0 = 0), da_l/dr, and dg_l/dr; then a_0.

    Here a_l = (2l + 1) e^{−r} i_l(r), and a_l/r = e^{−r} (i_{l−1} − i_{l+1}) needs no division.
    """
    i = _bessel(r, top + 3, half=True)
    degrees = range(1, top + 2)
    a_slope = [i[1] - i[0]]
    a_slope += [deg * (i[deg - 1] - i[deg]) + (deg + 1) * (i[deg + 1] - i[deg]) for deg in degrees]
    i_slope = [slope / (2 * deg + 1) for deg, slope in enumerate(a_slope)]
    g = [i[deg - 1] - i[deg + 1] for deg in degrees[:-1]]
    g_slope = [i_slope[deg - 1] - i_slope[deg + 1] for deg in degrees[:-1]]
    zero = Decimal(0)
    return [float(v) for v in (zero, *g, *a_slope[: top + 1], zero, *g_slope, i[0])]


def _pieces(low: float, high: float, columns: Callable[[float], list[float]]) -> Array:
    """Polynomials (piece, power, column), highest power first; NaN for lengths below `low`."""
    first, last = (cell(r) for r in (low * (1 - 1e-9), high * (1 + 1e-9)))
    count = DEGREE + 1
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    powers = np.vander(nodes, count)
    result: Array = np.empty(0)
    for piece in range(first, last + 1):
        left = (1 + piece % CELLS / CELLS) * 2.0 ** (piece // CELLS)
        r = left - 1 + (nodes + 1) / 2 * 2.0 ** (piece // CELLS) / CELLS
        with localcontext(prec=30):
            values = np.array([columns(length) for length in r])
        if piece == first:
            result = np.full((last + 1, count, values.shape[1]), np.nan)
        result[piece] = np.linalg.solve(powers, values)
    return result


def cell(r: float) -> int:
    """The piece that a length belongs to."""
    mantissa, exponent = frexp(1.0 + r)
    return CELLS * (exponent - 1) + int(2 * CELLS * (mantissa - 0.5))


def _fourier(low: float, high: float, tail: float) -> tuple[Array, Array]:
    table = SERIES[2].table(high, tail)
    return table, _pieces(low, high, lambda r: _fourier_columns(r, table.shape[1]))


def _legendre(low: float, high: float, tail: float) -> tuple[Array, Array]:
    size = SERIES[3].table(high, tail).shape[1]
    top = int(np.sqrt(2.0 * size)) - 1
    table = harmonic_factors(np.ones(top + 1), [1.0] * (top + 1), high)
    return table, _pieces(low, high, lambda r: _legendre_columns(r, top))


LENGTHS: dict[int, Callable[[float, float, float], tuple[Array, Array]]] = {
    2: _fourier,
    3: _legendre,
}
"""By dimension, from the least and the largest length and what may be left out, a table and pieces.

A coefficient of large m grows with r, so the largest length decides how many there are.
"""
