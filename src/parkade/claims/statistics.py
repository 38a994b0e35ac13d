"""The few statistics with which experiments judge, and their error probabilities."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parkade.claims.claim import Verdict
from parkade.types import Array

LEVEL = 1e-6
"""Probability, at most, that an experiment contradicts a claim although it is true."""


def allowed_sigmas(comparisons: int = 1) -> float:
    """How many standard errors any of so many means may be off (normal law, Bonferroni).

    If the predictions are right, one is farther off with a probability of `LEVEL` at most:
    4.9 standard errors for one mean, 5.3 for ten.
    """
    from scipy.special import ndtri

    return float(-ndtri(LEVEL / (2 * comparisons)))


class Mean(NamedTuple):
    """A sample mean and its standard error."""

    value: float
    error: float

    def sigmas(self, expected: float) -> float:
        """Distance from the expected value, in standard errors."""
        gap = abs(self.value - expected)
        return gap / self.error if self.error > 0 else (0.0 if gap == 0 else math.inf)


def mean(sample: ArrayLike) -> Mean:
    """The mean of independent numbers, with its standard error."""
    x = np.asarray(sample, dtype=np.float64)
    return Mean(float(x.mean()), float(x.std(ddof=1) / math.sqrt(x.size)))


def least_success(runs: int, level: float = LEVEL) -> float:
    """The least probability of success that `runs` successes out of `runs` are compatible with.

    Were it lower, the chance to see no failure would be below `level`.
    """
    return float(level ** (1 / runs))


def unlikely(probability: float, agrees: bool) -> Verdict:
    """The verdict of a test: one that `probability`, if it is below `LEVEL`, does not excuse."""
    if probability <= LEVEL:
        return "agrees" if agrees else "contradicts"
    return "undecided"


class Exponent(NamedTuple):
    """The exponent of a power law fitted to means, and its standard error."""

    value: float
    error: float
    prefactor: float
    chi2: float
    """Sum of squared residuals in standard errors; about `freedom` if the law is exact."""
    freedom: int

    def interval(self, sigmas: float = 1.96) -> tuple[float, float]:
        """Confidence interval: 95% by default."""
        return self.value - sigmas * self.error, self.value + sigmas * self.error


def fit_exponent(x: ArrayLike, means: list[Mean]) -> Exponent:
    """Fit means = prefactor · x^exponent by weighted least squares of the logarithms."""
    log_x = np.log(np.asarray(x, dtype=np.float64))
    log_y = np.log([m.value for m in means])
    weight: Array = np.array([(m.value / m.error) ** 2 for m in means])
    centre = np.average(log_x, weights=weight)
    spread = float(np.sum(weight * (log_x - centre) ** 2))
    slope = float(np.sum(weight * (log_x - centre) * log_y)) / spread
    level = float(np.average(log_y, weights=weight))
    residual = log_y - level - slope * (log_x - centre)
    return Exponent(
        value=slope,
        error=1 / math.sqrt(spread),
        prefactor=math.exp(level - slope * centre),
        chi2=float(np.sum(weight * residual**2)),
        freedom=len(means) - 2,
    )
