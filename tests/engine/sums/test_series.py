"""The coefficients of the series, against Bessel functions in high precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from support.common import EPS
from support.marks import many

from parkade.engine.sums import legendre
from parkade.engine.sums.series import LANES, SERIES

BETAS = [0.01, 1.0, 9.0, 64.0, 256.0]
EXTREMES = [1e-3, 1.0, 64.0, many(1e3, 1e4)]

fourier_table, legendre_table = SERIES[2].table, SERIES[3].table


@pytest.mark.parametrize("beta", EXTREMES)
def test_fourier_coefficients_are_bessel_functions(beta):
    table = fourier_table(beta, 1e-15)
    count = table.shape[1]
    assert table.shape[0] == 6
    assert count % LANES == 0
    assert np.array_equal(table[5], np.arange(count))
    with mpmath.workdps(40):
        b = mpmath.mpf(beta)

        def c(m):
            return mpmath.exp(-b) * mpmath.besseli(abs(m), b)

        def sine(m):  # Δ ↦ w sin Δ = Σ_m (c_{m−1} − c_{m+1}) sin mΔ
            return (c(m - 1) - c(m + 1)) / 2

        for m in sorted({0, 1, 2, 3, count // 2, count - 1}):
            exact = (
                c(m),
                sine(m),
                (c(m - 1) + c(m + 1)) / 2 - c(m),
                c(m) / 2 - (c(m - 2) + c(m + 2)) / 4,
                (sine(m - 1) + sine(m + 1)) / 2 - sine(m),
            )
            for i, (row, value) in enumerate(zip(table, exact, strict=False)):
                if m == 0 and i in (1, 4):  # of sin 0Δ = 0: of no account
                    continue
                # Differences of numbers of the size of c(0), which SciPy gives to some EPS.
                error = abs(row[m] - (2 if m else 1) * value)
                assert error <= 16 * EPS * c(0), (m, error)
            # c itself keeps its digits, however small.
            assert abs(table[0, m] / ((2 if m else 1) * c(m)) - 1) <= 1e-13


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("tail", [1e-15, 1e-6])
def test_fourier_leaves_out_no_more_than_it_may(beta, tail):
    count = fourier_table(beta, tail).shape[1]
    with mpmath.workdps(40):
        b = mpmath.mpf(beta)
        c = [mpmath.exp(-b) * mpmath.besseli(m, b) for m in range(count + 80)]

        def left(first):
            """The largest of what the series lack from mode `first` on."""
            rows = [[], [], [], [], []]
            for m in range(first, len(c) - 3):
                around = {i: c[abs(m + i)] for i in range(-2, 3)}
                sine = {i: (m + i) * around[i] / b for i in (-1, 0, 1)}
                even = (around[-1] + around[1]) / 2 - around[0]
                square = around[0] / 2 - (around[-2] + around[2]) / 4
                odd = (sine[-1] + sine[1]) / 2 - sine[0]
                for row, value in zip(rows, (around[0], sine[0], even, square, odd), strict=True):
                    row.append(abs(2 * value))
            return max(sum(row) for row in rows)

        # Sums of 80 numbers, rounded.
        assert left(count) <= tail * (1 + 1e-9) + 1e-18
        if count > LANES:
            assert left(count - LANES) > tail * (1 - 1e-9) - 1e-18


@pytest.mark.parametrize("beta", EXTREMES)
def test_legendre_coefficients_have_all_digits(beta):
    table = legendre_table(beta, 1e-15)
    top = legendre.degree(table.shape[1])
    assert table.shape == (4, (top + 1) * (top + 2) // 2)
    assert np.all(np.isfinite(table))
    assert np.all(table[3] == beta)

    def exact(deg):  # a_l, da_l/dβ, over (2l + 1) e^{−β}
        b = mpmath.mpf(beta)
        i = [
            mpmath.sqrt(mpmath.pi / 2 / b) * mpmath.besseli(k + 0.5, b) for k in range(deg, deg + 2)
        ]
        return i[0], deg * i[0] / b + i[1] - i[0]

    with mpmath.workdps(60):
        for deg in sorted({0, 1, 2, top // 2, top}):
            scale = (2 * deg + 1) * mpmath.exp(-mpmath.mpf(beta))
            legendre_0 = mpmath.binomial(2 * deg, deg) ** 2 / mpmath.mpf(16) ** deg
            for row, value in zip(table[1:], exact(deg), strict=False):
                assert abs(row[deg] / (scale * legendre_0 * value) - 1) <= 3 * EPS
            edge = deg * (2 * top + 3 - deg) // 2  # m = l: a product of binomials is simple
            legendre_l = mpmath.binomial(2 * deg, deg) / mpmath.mpf(4) ** deg * (2 if deg else 1)
            assert abs(table[1, edge] / (scale * legendre_l * exact(deg)[0]) - 1) <= 3 * EPS


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("tail", [1e-15, 1e-6])
def test_legendre_degree_is_the_smallest(beta, tail):
    top = legendre.degree(legendre_table(beta, tail).shape[1])
    with mpmath.workdps(40):
        b = mpmath.mpf(beta)
        scale = mpmath.exp(-b) * mpmath.sqrt(mpmath.pi / 2 / b)
        i = [scale * mpmath.besseli(deg + 0.5, b) for deg in range(top - 1, top + 60)]
        a, r = {}, {}
        for deg, (below, here, above) in enumerate(zip(i, i[1:], i[2:], strict=False), start=top):
            a[deg] = (2 * deg + 1) * here
            r[deg] = abs(deg * below + (deg + 1) * above - (2 * deg + 1) * here)

        def beyond(top):
            rest = [deg for deg in a if deg > top]
            slopes = [deg * a[deg] / b for deg in rest]
            return max(sum(a[deg] for deg in rest), sum(slopes), sum(r[deg] for deg in rest))

        assert beyond(top) <= tail < beyond(top - 1)


@pytest.mark.parametrize("d", SERIES)
@pytest.mark.parametrize("beta", [1e-3, *BETAS, 1e3])
@pytest.mark.parametrize("tail", [1e-15, 1e-10, 1e-6])
def test_rough_size_is_about_the_size_of_large_tables(d, beta, tail):
    rough, size = SERIES[d].rough_size(beta, tail), SERIES[d].table(beta, tail).shape[1]
    assert rough <= 1.1 * size
    if beta >= 64:
        assert rough >= 0.8 * size


@pytest.mark.parametrize("d", SERIES)
def test_seconds_grow_with_tokens_and_coefficients(d):
    seconds = SERIES[d].seconds
    assert 0 < seconds(100, 1000) < seconds(200, 1000)
    assert seconds(100, 2000) == pytest.approx(2 * seconds(100, 1000))
