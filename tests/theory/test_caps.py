import math

import mpmath
import numpy as np
import pytest

import parkade as pk
from parkade.theory import (
    cap_fraction,
    effective_exponent,
    expected_strong_centers,
    expected_strong_centers_of_sample,
)


def count_strong(x, delta):
    """Tokens farther than delta from every earlier one, straight from the definition."""
    return sum(all(pk.sphere.distance(x[j], x[k]) > delta for j in range(k)) for k in range(len(x)))


def count_strong_quickly(x, delta):
    near = x @ np.swapaxes(x, -1, -2) >= math.cos(delta)
    return (~np.tril(near, -1).any(axis=-1)).sum(axis=-1)


def spheres(m, n, d, seed):
    return pk.sphere.uniform(m * n, d, seed=seed).reshape(m, n, d)


def test_closed_forms():
    delta = np.linspace(0, math.pi, 41)
    assert np.allclose(cap_fraction(delta, 2), delta / math.pi, rtol=1e-15)
    assert np.allclose(cap_fraction(delta, 3), (1 - np.cos(delta)) / 2, rtol=0, atol=1e-15)
    four = (delta - np.sin(delta) * np.cos(delta)) / math.pi
    assert np.allclose(cap_fraction(delta, 4), four, rtol=0, atol=1e-15)
    for d in (2, 3, 4, 7, 100):
        whole = cap_fraction(delta, d) + cap_fraction(delta[::-1], d)
        assert np.allclose(whole, 1, rtol=0, atol=1e-15)
        assert cap_fraction(math.pi / 2, d) == pytest.approx(0.5, rel=1e-14)
        assert isinstance(cap_fraction(1.0, d), float)


@pytest.mark.parametrize("d", [2, 3, 4, 7, 50, 768])
def test_relative_precision(d):
    for delta in (1e-3, 0.01, 0.3, 0.785, 0.786, 1.2, 1.5, 1.57):
        with mpmath.workdps(30):
            x = mpmath.sin(mpmath.mpf(delta)) ** 2
            expected = mpmath.betainc(mpmath.mpf(d - 1) / 2, 0.5, 0, x, regularized=True) / 2
            if expected > 1e-290:
                assert abs(cap_fraction(delta, d) / expected - 1) < 1e-13


@pytest.mark.parametrize("d", [2, 3, 7])
def test_caps_hold_their_share_of_random_points(d):
    # A binomial count within 5 standard deviations: false alarm 6e-7 for each of 9.
    m = 200_000
    x = pk.sphere.uniform(m, d, seed=d)
    angle = pk.sphere.distance(x, np.eye(d)[0])
    for delta in (0.7, 1.4, 2.0):
        share = cap_fraction(delta, d)
        z = (np.sum(angle <= delta) - m * share) / math.sqrt(m * share * (1 - share))
        assert abs(z) <= 5


def test_expected_counts_are_sums():
    for d, delta in ((2, 0.3), (3, 0.5), (7, 1.0)):
        share = cap_fraction(delta, d)
        for n in (1, 2, 17):
            expected = sum((1 - share) ** k for k in range(n))
            assert expected_strong_centers(delta, d, n) == pytest.approx(expected, rel=1e-14)
        assert expected_strong_centers(delta, d) == pytest.approx(1 / share, rel=1e-15)
    assert expected_strong_centers(math.pi, 3, 100) == 1
    assert expected_strong_centers(1e-3, 768, 100) == 100  # the share underflows
    assert expected_strong_centers(1e-9, 2, 1000) == pytest.approx(1000, rel=1e-6)
    both = expected_strong_centers([0.3, 0.6], 2, 10)
    assert both.tolist() == [expected_strong_centers(c, 2, 10) for c in (0.3, 0.6)]


def test_the_quick_count_is_the_definition():
    x = pk.sphere.uniform(60, 3, seed=2)
    assert count_strong(x, 0.4) == count_strong_quickly(x, 0.4)


@pytest.mark.parametrize(("d", "delta", "n"), [(2, 0.5, 40), (3, 0.5, 60), (7, 1.0, 60)])
def test_expected_counts_of_random_tokens(d, delta, n):
    # A mean of 4000 counts within 5 standard errors: false alarm about 6e-7 for each of 3.
    counts = count_strong_quickly(spheres(4000, n, d, seed=d), delta)
    error = counts.std(ddof=1) / math.sqrt(len(counts))
    assert abs(counts.mean() - expected_strong_centers(delta, d, n)) <= 5 * error


def naive_estimate(x, delta, n):
    """The mean over all choices, by exact binomials."""
    m = len(x)
    others = (pk.sphere.distance(x[:, None], x[None]) <= delta).sum(axis=1) - 1
    shares = (math.comb(m - 1 - c, k) / math.comb(m - 1, k) for c in others for k in range(n))
    return sum(shares) / m


@pytest.mark.parametrize("n", [1, 2, 10, 29])
def test_the_estimate_and_its_jackknife_match_their_definitions(n):
    x = pk.sphere.uniform(30, 3, seed=1)
    got = expected_strong_centers_of_sample(x, 0.6, n)
    assert got.value == pytest.approx(naive_estimate(x, 0.6, n), rel=1e-13)
    without = [naive_estimate(np.delete(x, i, axis=0), 0.6, n) for i in range(30)]
    assert got.error == pytest.approx(math.sqrt(29 / 30 * 30 * np.var(without)), rel=1e-9, abs=1e-9)


def test_the_estimate_has_no_bias_and_an_honest_error():
    # A law that is not uniform: the truth from 20000 direct counts. The mean of 400 estimates
    # is within 5 joint standard errors of it: false alarm about 6e-7.
    n, m, delta = 12, 40, 0.5
    rng = np.random.default_rng(3)

    def law(*shape):
        return pk.sphere.from_angles(1.5 * rng.standard_normal(shape) ** 3)

    counts = count_strong_quickly(law(20_000, n), delta)
    estimates = np.array([expected_strong_centers_of_sample(law(m), delta, n) for _ in range(400)])
    values, errors = estimates.T
    joint = math.hypot(counts.std() / math.sqrt(len(counts)), values.std() / math.sqrt(len(values)))
    assert abs(values.mean() - counts.mean()) <= 5 * joint
    # The jackknife is neither too small nor twice too large. The variance of 400 numbers is
    # known to 7 %, the mean of their jackknives more precisely: 5 deviations allow 0.6.
    ratio = np.mean(errors**2) / values.var()
    assert 0.6 < ratio < 4


def test_chunks_do_not_show(monkeypatch):
    x = pk.sphere.uniform(50, 3, seed=1)
    whole = expected_strong_centers_of_sample(x, 0.5, 20)
    monkeypatch.setattr("parkade.theory.caps._CHUNK", 350)
    assert expected_strong_centers_of_sample(x, 0.5, 20) == pytest.approx(whole, rel=1e-13)


def test_the_exponent_is_that_of_the_leading_eigenvalues():
    assert effective_exponent(np.eye(3)) == 1
    assert effective_exponent([1, 1, 1, 0.5]) == 1
    assert effective_exponent([1, 0.5]) == 0
    assert effective_exponent([[1, -1, 0], [1, 1, 0], [0, 0, 0.5]]) == 0.5
    assert effective_exponent([1, 1 - 1e-6, 0], tol=1e-3) == 0.5
    for V in ([-1, -1, -2], [0, 0, -1], [[1, 1], [0, 1]]):
        with pytest.raises(pk.InputError, match="V that attracts"):
            effective_exponent(V)


def test_bad_input_gets_a_sentence():
    with pytest.raises(pk.InputError, match="angle from 0 to π, got 4"):
        cap_fraction(4.0, 3)
    with pytest.raises(pk.InputError, match="d must be ≥ 2"):
        cap_fraction(1.0, 1)
    with pytest.raises(pk.InputError, match=r"in \(0, π\], got 0"):
        expected_strong_centers([0.1, 0.0], 3)
    with pytest.raises(pk.InputError, match="n must be"):
        expected_strong_centers(0.1, 3, n=0)
    x = pk.sphere.uniform(10, 3, seed=0)
    with pytest.raises(pk.InputError, match="larger than n"):
        expected_strong_centers_of_sample(x, 0.1, 10)
    with pytest.raises(pk.InputError, match="n must be"):
        expected_strong_centers_of_sample(x, 0.1, None)
