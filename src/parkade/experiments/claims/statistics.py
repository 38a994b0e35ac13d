"""The few statistics with which experiments judge, and their error probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parkade.experiments.claims.claim import Verdict

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


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim of several parts: the worst speaks for all."""
    order: tuple[Verdict, ...] = ("contradicts", "undecided", "agrees")
    return min(verdicts, key=order.index)


class Exponent(NamedTuple):
    """The exponent of a power law fitted to mean counts."""

    value: float
    error: float
    """Standard error."""
    freedom: int
    """Degrees of freedom behind the standard error."""
    prefactor: float
    chi2: float
    """Sum of squared residuals, over their variances: about points − 2 if the law is exact."""

    def reach(self, probability: float) -> float:
        """Half the width of the interval that misses the truth with this probability."""
        from scipy.special import stdtrit

        return float(-stdtrit(self.freedom, probability / 2)) * self.error


def fit_exponent(x: ArrayLike, samples: Sequence[ArrayLike]) -> Exponent:
    """Fit mean count = prefactor · x^exponent by weighted least squares of the logarithms.

    Takes for each x a sample of counts. Their variance is taken to be proportional to their
    mean, as for numbers of things that are far apart and so independent, and the factor is
    estimated from all samples together: each alone may be small.
    """
    log_x = np.log(np.asarray(x, dtype=np.float64))
    counts = [np.asarray(sample, dtype=np.float64) for sample in samples]
    means = np.array([c.mean() for c in counts])
    sizes = np.array([c.size for c in counts])
    freedom = int(np.sum(sizes - 1))
    dispersion = sum(float(np.sum((c - c.mean()) ** 2)) / c.mean() for c in counts) / freedom
    weight = sizes * means / dispersion
    centre = np.average(log_x, weights=weight)
    spread = float(np.sum(weight * (log_x - centre) ** 2))
    slope = float(np.sum(weight * (log_x - centre) * np.log(means))) / spread
    level = float(np.average(np.log(means), weights=weight))
    residual = np.log(means) - level - slope * (log_x - centre)
    return Exponent(
        value=slope,
        error=1 / math.sqrt(spread),
        freedom=freedom,
        prefactor=math.exp(level - slope * centre),
        chi2=float(np.sum(weight * residual**2)),
    )


def less(sample: Sequence[float], expected: float) -> Verdict:
    """Whether the mean of independent numbers is less than expected, at a fifth of the level."""
    from scipy.stats import t

    m = mean(sample)
    probability = float(t.sf(m.sigmas(expected), len(sample) - 1))
    return unlikely(5 * probability, m.value < expected)
