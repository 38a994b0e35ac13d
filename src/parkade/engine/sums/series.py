"""The weights as series of harmonic functions: coefficients, how many there are, what they cost.

On the circle weights are a Fourier series (`fourier`), on S² a series in Legendre polynomials
(`legendre`); both modules explain what their coefficients mean. NumPy and SciPy only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from math import comb, log, sqrt
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array

LANES = 8
"""Fourier modes side by side: two AVX2 registers, so that powers and sums all fit."""

# Rough costs in seconds on one core with AVX2. They choose between harmonic and direct sums, so
# what matters is how they compare with those of `pairwise.seconds`; `benchmarks/linear.py
# crossover` shows how well they choose.
_MODE_SECONDS = 6e-10  # per token and Fourier mode
_MODES_TOKEN_SECONDS = 2e-8  # per token, whatever the number of modes
_HARMONIC_SECONDS = 1e-9  # per token and spherical harmonic
_HARMONICS_TOKEN_SECONDS = 2.6e-7  # per token: direct sums within its chunk, and the projection
# The same if queries have different lengths, and so coefficients of their own.
_OWN_MODE_SECONDS, _OWN_MODES_TOKEN_SECONDS = 1.7e-9, 7e-8
_OWN_HARMONIC_SECONDS, _OWN_HARMONICS_TOKEN_SECONDS = 1.9e-9, 3.5e-7


class HarmonicSeries(NamedTuple):
    """What is known about the harmonic series of one dimension."""

    table: Callable[[float, float], Array]  # (β, tail): coefficients that lack less than `tail`
    rough_size: Callable[[float, float], int]  # (β, tail): about the columns of the table; quick
    seconds: Callable[[int, int], float]  # (columns, n): about one velocity, on one core
    seconds_by_length: Callable[[int, int], float]  # the same if queries have different lengths


def _fourier_table(beta: float, tail: float) -> Array:
    """Rows as `fourier` wants them: coefficients of five series, and the numbers m."""
    from scipy.special import ive

    most = 16 + int(np.sqrt(2 * beta * 800)) + LANES
    m = np.arange(most + 4.0)
    c: Array = np.asarray(ive(m, beta), dtype=np.float64)

    def times_cosine(a: Array) -> Array:  # of a function given by the coefficients of cosines
        product: Array = 0.5 * (np.concatenate([a[1:2], a[:-1]]) + np.append(a[1:], 0.0))
        return product

    sine = m * c / beta  # (w sin Δ, a series of sines: odd in m)
    sine_cosine = 0.5 * (np.append(0.0, sine[:-1]) + np.append(sine[1:], 0.0))
    twice = times_cosine(times_cosine(c))
    rows = np.stack([c, sine, times_cosine(c) - c, c - twice, sine_cosine - sine, m])
    rows[:-1, 1:] *= 2.0
    # What is left out after M modes, for the slowest of the series.
    left = np.cumsum(np.abs(rows[:-1, ::-1]), axis=1)[:, ::-1].max(axis=0)
    count = int(np.argmax(left <= tail)) if (left <= tail).any() else most
    size = -(-max(count, 1) // LANES) * LANES
    return np.ascontiguousarray(rows[:, :size])


def _fourier_size(beta: float, tail: float) -> int:
    return int(np.sqrt(2 * beta * -np.log(tail)))


def _fourier_seconds(size: int, n: int) -> float:
    return n * (_MODES_TOKEN_SECONDS + _MODE_SECONDS * size)


def _own_fourier_seconds(size: int, n: int) -> float:
    return n * (_OWN_MODES_TOKEN_SECONDS + _OWN_MODE_SECONDS * size)


def _legendre_table(beta: float, tail: float) -> Array:
    """Rows as `legendre` wants them: factors of the recurrence, α for W, α for R, and β.

    L is the least degree beyond which W, N and R lack at most `tail` each; S may lack L/β as much.
    """
    reach = max(1.0, -log(tail))
    degrees = range(2 * int(sqrt(2 * beta * reach) + reach) + 20)
    with localcontext(prec=60):  # da/dβ is a second difference; ratios of i_l are stable downwards
        b, ratio = Decimal(beta), [Decimal(0)]
        for deg in reversed(degrees):
            ratio.append(1 / ((2 * deg + 3) / b + ratio[-1]))
        i = [(1 - (-2 * b).exp()) / (2 * b)]  # e^{−β} i_l
        for deg in degrees:
            i.append(i[-1] * ratio[-1 - deg])
        a = np.array([float((2 * d + 1) * i[d]) for d in degrees])
        r = [float((d + 1) * (i[d + 1] - i[d]) - d * (i[d] - i[d - 1])) for d in degrees]
    bounds = np.stack([a, np.arange(len(a)) * a / beta, np.abs(r)])[:, ::-1]  # |P∇P_l| ≤ l
    top = max(0, int(np.count_nonzero(np.cumsum(bounds, axis=1).max(axis=0) > tail)) - 1)
    return harmonic_factors(a[: top + 1], r, beta)


def harmonic_factors(a: Array, r: Sequence[float], beta: float) -> Array:
    """The table of `legendre` for coefficients a_l and da_l/dβ, one of each for every degree."""
    top = len(a) - 1
    result = np.full((4, (top + 1) * (top + 2) // 2), float(beta))
    for deg in range(top + 1):
        low, middle, binomial = deg - 1, comb(2 * deg, deg), comb(2 * deg, deg)
        for m in range(deg + 1):
            place = m * (2 * top + 3 - m) // 2 + deg - m
            # From 1 and 0, −1 makes D_mm = 1. Of integers, nothing but the division rounds.
            result[0, place] = -1.0 if m == deg else 4 * (low**2 - m**2) / (4 * low**2 - 1)
            norm = (2 if m else 1) * middle * binomial / (1 << (4 * deg - 2 * m))
            result[1:3, place] = norm * a[deg], norm * r[deg]
            binomial = binomial * (deg - m) // (deg + m + 1)
    return result


def _legendre_size(beta: float, tail: float) -> int:
    top = int(sqrt(2 * beta * -log(tail)))
    return (top + 1) * (top + 2) // 2


def _legendre_seconds(size: int, n: int) -> float:
    return n * (_HARMONICS_TOKEN_SECONDS + _HARMONIC_SECONDS * size)


def _own_legendre_seconds(size: int, n: int) -> float:
    return n * (_OWN_HARMONICS_TOKEN_SECONDS + _OWN_HARMONIC_SECONDS * size)


SERIES = {
    2: HarmonicSeries(_fourier_table, _fourier_size, _fourier_seconds, _own_fourier_seconds),
    3: HarmonicSeries(_legendre_table, _legendre_size, _legendre_seconds, _own_legendre_seconds),
}
"""The series by dimension."""
