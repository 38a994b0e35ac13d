"""Coefficients by the length of a query, against Bessel functions in high precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from support.common import EPS
from support.harmonics import lengths_table

from parkade.engine.sums import legendre
from parkade.engine.sums.lengths import CELLS, LENGTHS, cell
from parkade.engine.sums.queries import set_coefficients
from parkade.engine.sums.series import SERIES

TAIL = 1e-17
LENGTH = [1e-9, 1e-3, 0.06249, 0.0625, 0.7, 2.3, 6.99999, 7.0, 20.0, 63.999, 64.0]


def coefficients_at(lengths, r):
    out = np.full(lengths.shape[2], np.inf)
    set_coefficients(lengths, r, out)
    return out


@pytest.mark.parametrize("r", LENGTH)
def test_circle(r):
    table, lengths = lengths_table(2, 0.0, 64.0, TAIL)
    assert np.array_equal(table, SERIES[2].table(64.0, TAIL))
    orders = range(-2, table.shape[1] + 2)
    with mpmath.workdps(40):
        length = mpmath.mpf(r)
        exact = [float(mpmath.exp(-length) * mpmath.besseli(abs(m), length)) for m in orders]
    # All of them together, as they count in a weight.
    assert np.sum(np.abs(coefficients_at(lengths, r) - exact)) <= 2 * EPS


@pytest.mark.parametrize("r", LENGTH)
def test_sphere(r):
    table, lengths = lengths_table(3, 0.0, 64.0, TAIL)
    top = legendre.degree(table.shape[1])
    with mpmath.workdps(50):
        b = mpmath.mpf(r)
        i = [
            mpmath.exp(-b) * mpmath.sqrt(mpmath.pi / 2 / b) * mpmath.besseli(deg + 0.5, b)
            for deg in range(top + 3)
        ]

        def slope(deg):  # of e^{−r} i_l
            return deg * i[deg] / b + i[deg + 1] - i[deg]

        degrees = range(1, top + 1)
        g = [0.0] + [float((2 * deg + 1) * i[deg] / b) for deg in degrees]
        a_slope = [float((2 * deg + 1) * slope(deg)) for deg in range(top + 1)]
        g_slope = [0.0] + [float((2 * deg + 1) / b * (slope(deg) - i[deg] / b)) for deg in degrees]
    exact = np.concatenate([g, a_slope, g_slope, [float(i[0])]])
    error = np.abs(coefficients_at(lengths, r) - exact)
    for part in np.split(error, [top + 1, 2 * top + 2, 3 * top + 3]):
        assert np.sum(part) <= 3 * EPS


def test_the_table_of_the_sphere_has_no_coefficients():
    table, _ = LENGTHS[3](1.0, 9.0, 1e-12)
    plain = SERIES[3].table(9.0, 1e-12)
    assert table.shape == plain.shape
    assert np.array_equal(table[0], plain[0])
    assert table[1, 0] == 1.0
    # a_l of the other table is the same for all m.
    ratio, top = plain[1] / table[1], legendre.degree(table.shape[1])
    at_1 = list(range(1, top + 1))
    np.testing.assert_allclose(ratio[top + 1 : 2 * top + 1], ratio[at_1], rtol=1e-14)


def test_pieces_follow_each_other():
    edges = [(1 + p / CELLS) * 2.0**octave - 1 for octave in range(4) for p in range(CELLS)]
    assert [cell(edge) for edge in edges] == list(range(4 * CELLS))
    assert [cell(np.nextafter(1 + edge, 0) - 1) for edge in edges[1:]] == list(range(4 * CELLS - 1))


@pytest.mark.parametrize("d", LENGTHS)
def test_lengths_that_do_not_occur_have_no_coefficients(d):
    _, lengths = LENGTHS[d](8.0, 9.0, 1e-10)
    assert np.isnan(coefficients_at(lengths, 2.0)).all()
    assert np.isfinite(coefficients_at(lengths, 8.0)).all()
    assert np.isfinite(coefficients_at(lengths, 9.0)).all()
    for nonsense in (np.nan, np.inf):
        assert np.isnan(coefficients_at(lengths, nonsense)).all()
