"""The statistics behind the verdicts, against simulations and closed forms."""

import math

import numpy as np
import pytest
from scipy.special import bdtr, ndtr, stdtr

from parkade.experiments import statistics


def test_mean_has_the_textbook_standard_error():
    estimate = statistics.mean([1.0, 2.0, 3.0, 6.0])
    assert estimate.value == 3.0
    assert estimate.error == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert estimate.sigmas(3.0) == 0.0
    assert estimate.sigmas(3.0 + 2 * estimate.error) == pytest.approx(2.0)
    certain = statistics.mean([2.0, 2.0])
    assert certain.sigmas(2.0) == 0.0
    assert certain.sigmas(2.5) == math.inf


@pytest.mark.parametrize("comparisons", [1, 10, 1000])
def test_allowed_sigmas_give_the_level_in_all(comparisons):
    allowed = statistics.allowed_sigmas(comparisons)
    assert comparisons * 2 * ndtr(-allowed) == pytest.approx(1e-6, rel=1e-9)
    few = statistics.allowed_sigmas(comparisons, samples=8)
    assert comparisons * 2 * stdtr(7, -few) == pytest.approx(1e-6, rel=1e-9)


def test_least_success():
    assert statistics.least_success(40) ** 40 == pytest.approx(1e-6)


def test_an_exact_power_law_is_found():
    x = np.array([1.0, 2.0, 4.0, 9.0])
    samples = [3 * value**0.7 * np.array([0.9, 1.0, 1.1]) for value in x]
    fit = statistics.fit_exponent(x, samples)
    assert fit.value == pytest.approx(0.7)
    assert fit.prefactor == pytest.approx(3)
    assert fit.chi2 == pytest.approx(0, abs=1e-20)
    assert fit.freedom == 8


def test_the_interval_of_the_exponent_covers_as_often_as_it_says():
    # 2000 fits; 95% intervals should cover 1900 ± 10 times. The bound, five standard errors
    # and 2% for the curvature of the logarithm, fails by chance with a probability < 1e-6.
    rng = np.random.default_rng(7)
    x = np.array([16.0, 64.0, 256.0])
    covered = 0
    for _ in range(2000):
        samples = [rng.poisson(4 * value**0.5, size=8) for value in x]
        fit = statistics.fit_exponent(x, samples)
        covered += abs(fit.value - 0.5) <= fit.reach(0.05)
    assert abs(covered / 2000 - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 2000) + 0.02


def test_less_needs_a_clear_difference():
    assert statistics.less([1.0, 1.01, 0.99, 1.0, 1.02, 0.98], 2.0) == "agrees"
    assert statistics.less([1.0, 1.01, 0.99, 1.0, 1.02, 0.98], 0.5) == "contradicts"
    assert statistics.less([1.0, 1.5, 0.6, 1.1], 1.2) == "undecided"


def test_a_weighted_line_is_that_of_least_squares():
    rng = np.random.default_rng(3)
    x, y, weight = rng.standard_normal(9), rng.standard_normal(9), rng.uniform(1, 5, 9)
    line = statistics.fit_line(x, y, weight)
    (slope, constant), covariance = np.polyfit(x, y, 1, w=np.sqrt(weight), cov="unscaled")
    assert line.slope == pytest.approx(slope)
    assert line.level - line.slope * line.center == pytest.approx(constant)
    assert line.error == pytest.approx(math.sqrt(covariance[0, 0]))


def test_the_worst_verdict_decides():
    assert statistics.worst(["agrees", "undecided", "agrees"]) == "undecided"
    assert statistics.worst(["undecided", "contradicts"]) == "contradicts"


def test_a_test_decides_only_where_chance_does_not():
    assert statistics.unlikely(1e-7, agrees=True) == "agrees"
    assert statistics.unlikely(1e-7, agrees=False) == "contradicts"
    assert statistics.unlikely(1e-3, agrees=True) == "undecided"


def test_a_mean_as_text():
    assert statistics.Mean(1.23456, 0.0123).text(".3f", ".1g") == "1.235 ± 0.01"


def test_a_slope_knows_its_error_where_variances_differ():
    # Of 2000 slopes, their spread is estimated to 1.6%; White's error has a bias of a few per cent.
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 10, 200)
    slopes = [statistics.fit_slope(x, 2 * x + x * rng.standard_normal(200)) for _ in range(2000)]
    values = np.array([slope.value for slope in slopes])
    assert values.mean() == pytest.approx(2, abs=5 * values.std() / math.sqrt(2000))
    assert np.mean([slope.error for slope in slopes]) == pytest.approx(values.std(), rel=0.1)


@pytest.mark.parametrize(("size", "rank"), [(5, 0), (9, 1), (100, 40)])
def test_the_interval_of_a_median_is_that_of_the_sign_test(size, rank):
    # For example, 5 numbers: all are on one side of the median with a probability of 1/16.
    sample = np.random.default_rng(size).permutation(size)
    assert statistics.median_interval(sample, 0.0625) == (rank, size - 1 - rank)
    assert 2 * bdtr(rank, size, 0.5) <= 0.0625 < 2 * bdtr(rank + 1, size, 0.5)


def test_few_numbers_say_nothing_of_a_median():
    assert statistics.median_interval([1.0, 2.0, 3.0], 0.01) == (-math.inf, math.inf)
