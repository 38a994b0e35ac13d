"""Coefficients of harmonic sums, which `engine.sums.series` finds with SciPy and long decimals.

The Bessel functions I_m(β) and the spherical ones i_l(β) are computed by downward recurrence of
their ratios, which is stable, and then scaled by the sum of the series at the angle 0:

    1 = e^{−β} [I₀ + 2 Σ I_m] = e^{−β} Σ (2l + 1) i_l.

All of this has twice the digits of a float, because differences of the results follow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numerics.precise import minus, plus, product, ratio, times
from slots import floats

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.sums.series import LANES


@njit(allocates=True)
def _scaled(beta: float, size: int, odd: int) -> Any:
    """e^{−β} I_m(β) for m < size, or e^{−β} i_l(β) if `odd` is 1; each in two parts, (size, 2)."""
    out = np.empty((size, 2))
    upper = (0.0, 0.0)
    for m in range(size - 1, 0, -1):
        step = ratio((2.0 * m + odd, 0.0), (beta, 0.0))
        upper = ratio((1.0, 0.0), plus(step, upper))
        out[m, 0], out[m, 1] = upper
    total, value = (1.0, 0.0), (1.0, 0.0)
    for m in range(1, size):
        value = product(value, (out[m, 0], out[m, 1]))
        out[m, 0], out[m, 1] = value
        total = plus(total, times(value, 2.0 * m + 1.0 if odd else 2.0))
    out[0, 0], out[0, 1] = 1.0, 0.0
    for m in range(size):
        value = ratio((out[m, 0], out[m, 1]), total)
        out[m, 0], out[m, 1] = value
    return out


@njit(allocates=True, error_model="numpy")
def fourier(beta: float, tail: float) -> Array:
    """The table of Fourier coefficients, for the circle."""
    most = 16 + int(np.sqrt(2 * beta * 800)) + LANES
    size = most + 4
    values = _scaled(beta, size, 0)
    c, sine, twice = np.empty(size + 1), np.empty(size + 1), np.empty(size + 1)
    rows, left = np.empty((5, size)), np.zeros(5)
    for m in range(size):
        c[m], sine[m] = values[m, 0], m * values[m, 0] / beta
    c[size] = sine[size] = twice[size] = 0.0
    for m in range(size):
        twice[m] = 0.5 * (c[abs(m - 1)] + c[m + 1])
    count = most
    for m in range(size - 1, -1, -1):
        before = sine[m - 1] if m > 0 else 0.0
        double = 2.0 if m > 0 else 1.0
        rows[0, m] = double * c[m]
        rows[1, m] = double * sine[m]
        rows[2, m] = double * (twice[m] - c[m])
        rows[3, m] = double * (c[m] - 0.5 * (twice[abs(m - 1)] + twice[m + 1]))
        rows[4, m] = double * (0.5 * (before + sine[m + 1]) - sine[m])
        worst = 0.0
        for r in range(5):
            left[r] += abs(rows[r, m])
            worst = max(worst, left[r])
        if worst <= tail:
            count = m
    wide = -(-max(count, 1) // LANES) * LANES
    table = floats((6, wide))
    for m in range(wide):
        for r in range(5):
            table[r, m] = rows[r, m]
        table[5, m] = m
    return table


@njit(allocates=True, error_model="numpy")
def legendre(beta: float, tail: float) -> Array:
    """The table of Legendre coefficients, for the sphere."""
    reach = max(1.0, -math.log(tail))
    size = 2 * int(math.sqrt(2 * beta * reach) + reach) + 20
    values = _scaled(beta, size + 1, 1)
    a, r, left = np.empty(size), np.empty(size), np.zeros(3)
    top = -1
    for m in range(size - 1, -1, -1):
        here, after = (values[m, 0], values[m, 1]), (values[m + 1, 0], values[m + 1, 1])
        before = (values[abs(m - 1), 0], values[abs(m - 1), 1])
        a[m] = times(here, 2.0 * m + 1.0)[0]
        r[m] = minus(times(minus(after, here), m + 1.0), times(minus(here, before), float(m)))[0]
        left[0] += a[m]
        left[1] += m * a[m] / beta
        left[2] += abs(r[m])
        if top < 0 and max(left[0], left[1], left[2]) > tail:
            top = m
    return _factors(a, r, max(top, 0), beta)


@njit(allocates=True)
def _factors(a: Array, r: Array, top: int, beta: float) -> Array:
    """The table of `series.harmonic_factors`, which computes it from ratios of long integers."""
    table = floats((4, (top + 1) * (top + 2) // 2))
    middle = (1.0, 0.0)  # binomial(2 deg, deg) / 4^deg
    for deg in range(top + 1):
        if deg > 0:
            middle = ratio(times(middle, 2.0 * deg - 1.0), (2.0 * deg, 0.0))
        binomial = middle
        for m in range(deg + 1):
            place = m * (2 * top + 3 - m) // 2 + deg - m
            low = deg - 1.0
            table[0, place] = -1.0 if m == deg else 4 * (low * low - m * m) / (4 * low * low - 1)
            norm = times(product(middle, binomial), 2.0 if m > 0 else 1.0)[0]
            table[1, place], table[2, place] = norm * a[deg], norm * r[deg]
            table[3, place] = beta
            binomial = ratio(times(binomial, 4.0 * (deg - m)), (deg + m + 1.0, 0.0))
    return table
