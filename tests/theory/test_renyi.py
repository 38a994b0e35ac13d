import math

import mpmath
import numpy as np
import pytest

import parkade as pk
from parkade.theory import PARKING_CONSTANT, expected_renyi_centers, parking_function


def exact_pieces(last):
    """M to 40 digits by power series around the middle of each unit interval [k, k+1]."""
    terms = 120
    half = mpmath.mpf(1) / 2
    middle = mpmath.mpf("2.5")  # M(x) = 3 − 2/(x−1) on [2, 3]
    series = [3 - 2 / (middle - 1)]
    series += [-2 * (-1) ** j / (middle - 1) ** (j + 1) for j in range(1, terms)]
    pieces = {2: series}
    below = mpmath.mpf(1)  # ∫_0^k M
    for k in range(2, last):
        integral = [mpmath.mpf(0)] + [a / (j + 1) for j, a in enumerate(series)]
        integral[0] = below - sum(a * (-half) ** j for j, a in enumerate(integral))
        below = sum(a * half**j for j, a in enumerate(integral))
        # (x·(M(x+1) − 1))/2 = ∫_0^x M: divide the series by x = middle + s.
        middle, quotient = k + half, []
        for j in range(terms):
            quotient.append((2 * integral[j] - (quotient[-1] if j else 0)) / middle)
        series = [1 + quotient[0], *quotient[1:]]
        pieces[k + 1] = series
    return pieces


def test_closed_forms():
    assert parking_function([0, 0.999, 1, 1.5, 2]).tolist() == [0, 0, 1, 1, 1]
    assert parking_function(2.5) == pytest.approx(1 + 2 * 0.5 / 1.5, rel=1e-15)
    assert parking_function(3.0) == 2
    assert isinstance(parking_function(3.0), float)
    for x in (3.2, 3.9):
        y = x - 1
        expected = 1 + 2 / y * (1 + 3 * (y - 2) - 2 * math.log(y - 1))
        assert parking_function(x) == pytest.approx(expected, rel=1e-15)


def test_many_digits():
    with mpmath.workdps(40):
        pieces = exact_pieces(40)
        for k, series in pieces.items():
            for place in (0.0, 0.3, 0.7, 0.9999):
                s = mpmath.mpf(place) - mpmath.mpf(1) / 2
                expected = sum(a * s**j for j, a in enumerate(series))
                assert abs(parking_function(k + place) / expected - 1) < 2e-15, k + place


def test_it_is_continuous_beyond_one_and_solves_its_equation():
    knots = np.arange(2.0, 32.0)
    jump = parking_function(knots) - parking_function(np.nextafter(knots, 0))
    assert np.abs(jump).max() < 1e-14
    points, weights = np.polynomial.legendre.leggauss(30)
    for x in (4.5, 11.3, 26.5, 29.1):
        ends = np.array([1.0, *range(2, int(x) + 1), x])
        width = np.diff(ends) / 2
        u = (ends[:-1] + width)[:, None] + width[:, None] * points
        integral = np.sum(width[:, None] * weights * parking_function(u))
        assert parking_function(x + 1) == pytest.approx(1 + 2 * integral / x, rel=1e-13)


def test_the_constant():
    with mpmath.workdps(30):

        def integrand(t):  # ∫_0^t (1−e^{−u})/u du = γ + ln t + E_1(t)
            return mpmath.exp(-2 * (mpmath.euler + mpmath.log(t) + mpmath.e1(t)))

        cut = mpmath.mpf(100)  # beyond it E_1 < 1e-45, and e^{−2γ}/t² is left
        value = mpmath.quad(integrand, [0, 0.5, 1, 2, 4, 8, 16, 32, 64, cut])
        value += mpmath.exp(-2 * mpmath.euler) / cut
        assert abs(value - mpmath.mpf(PARKING_CONSTANT)) < 1e-15
    assert (parking_function(26.9) + 1) / 27.9 == pytest.approx(PARKING_CONSTANT, rel=1e-15)
    assert parking_function(1e9) / 1e9 == pytest.approx(PARKING_CONSTANT, rel=1e-9)


def park(rng, length):
    """The number of cars of length 1 that fill a street: the first one, then its two sides."""
    count, streets = 0, np.array([length])
    while streets.size:
        left = rng.random(streets.size) * (streets - 1)
        count += streets.size
        streets = np.concatenate([left, streets - 1 - left])
        streets = streets[streets >= 1]
    return count


@pytest.mark.parametrize("length", [3.5, 6.2, 30.0])
def test_parked_cars(length):
    # A mean of 3000 counts within 5 standard errors: false alarm about 6e-7 for each of 3.
    rng = np.random.default_rng(1)
    counts = np.array([park(rng, length) for _ in range(3000)])
    error = counts.std(ddof=1) / math.sqrt(len(counts))
    assert abs(counts.mean() - parking_function(length)) <= 5 * error


def renyi_centers_of_everything(rng, delta):
    """The number of centres on a full circle: each is uniform on the free arcs."""
    free = [(delta, 2 * math.pi - delta)]  # a centre at 0
    count = 1
    while free:
        low, high = free.pop()
        if low < high:
            where = rng.uniform(low, high)
            count += 1
            free += [(low, where - delta), (where + delta, high)]
    return count


@pytest.mark.parametrize("delta", [0.3, 0.5, 1.0, 1.9, 2.5])
def test_centers_on_the_circle(delta):
    # Separate arcs are independent, so the order of filling does not matter. A mean of
    # 3000 counts within 5 standard errors: false alarm about 6e-7 for each of 5.
    rng = np.random.default_rng(2)
    counts = np.array([renyi_centers_of_everything(rng, delta) for _ in range(3000)])
    error = counts.std(ddof=1) / math.sqrt(len(counts))
    assert abs(counts.mean() - expected_renyi_centers(delta)) <= 5 * error + 1e-9


def test_many_tokens_come_close_from_below():
    """Straight from the definition, with so many tokens that hardly any place is free."""
    delta, n, runs = 0.8, 1000, 400
    rng = np.random.default_rng(4)
    centers = np.full((runs, 8), np.inf)  # of all runs at once; at most 2π/δ fit
    counts = np.zeros(runs, dtype=int)
    for phi in rng.uniform(0, 2 * math.pi, (runs, n)).T:
        gap = np.abs(phi[:, None] - centers)
        free = np.flatnonzero((np.minimum(gap, np.abs(2 * math.pi - gap)) > delta).all(axis=1))
        centers[free, counts[free]] = phi[free]
        counts[free] += 1
    # A place of length u is still free with probability e^{−nu/2π}, so a gap has a free place
    # with probability of order 2π/n: a bias below 0.06 for about 7 gaps. Plus 5 standard errors:
    # false alarm about 6e-7.
    error = np.std(counts) / math.sqrt(runs)
    assert abs(np.mean(counts) - expected_renyi_centers(delta)) <= 5 * error + 0.06


def test_separations_at_the_ends():
    assert expected_renyi_centers(math.pi) == 1
    assert expected_renyi_centers(math.nextafter(math.pi, 0)) == 2
    small = expected_renyi_centers([1e-3, 1e-9])
    assert np.allclose(small, PARKING_CONSTANT * 2 * math.pi / np.array([1e-3, 1e-9]), rtol=1e-14)


def test_bad_input_gets_a_sentence():
    with pytest.raises(pk.InputError, match="length ≥ 0, got -1"):
        parking_function([1.0, -1.0])
    with pytest.raises(pk.InputError, match=r"in \(0, π\]"):
        expected_renyi_centers(0.0)
    with pytest.raises(pk.InputError, match="at least"):
        expected_renyi_centers(1e-320)
