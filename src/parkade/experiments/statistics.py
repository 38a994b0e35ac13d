"""The statistics that experiments use, with their probabilities of error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parkade.base.types import Array
from parkade.experiments.claim import Judgement

LEVEL = 1e-6
"""Largest probability that an experiment contradicts a claim that is true."""


def allowed_sigmas(comparisons: int = 1, samples: int | None = None) -> float:
    """Standard errors by which each of several means may be off (Bonferroni).

    If the predictions are right, one is further off with a probability of at most `LEVEL`:
    4.9 standard errors for one mean, 5.3 for ten. That is by the normal law, or by Student's if
    there are few `samples` for each mean.
    """
    from scipy.special import ndtri, stdtrit

    tail = LEVEL / (2 * comparisons)
    return float(-ndtri(tail) if samples is None else -stdtrit(samples - 1, tail))


class Mean(NamedTuple):
    """An estimate, such as a sample mean, and its standard error."""

    value: float
    error: float

    def sigmas(self, expected: float) -> float:
        """Distance from the expected value, in standard errors."""
        gap = abs(self.value - expected)
        return gap / self.error if self.error > 0 else (0.0 if gap == 0 else math.inf)

    def text(self, value: str, error: str) -> str:
        """Value ± error, with a format for each."""
        return f"{self.value:{value}} ± {self.error:{error}}"


def mean(sample: ArrayLike) -> Mean:
    """The mean of independent numbers, with its standard error."""
    x = np.asarray(sample, dtype=np.float64)
    return Mean(float(x.mean()), float(x.std(ddof=1) / math.sqrt(x.size)))


def least_success(runs: int, level: float = LEVEL) -> float:
    """The smallest probability of success that is compatible with no failure in `runs` runs.

    If it were smaller, the probability of no failure would be below `level`.
    """
    return float(level ** (1 / runs))


def unlikely(probability: float, agrees: bool) -> Judgement:
    """The verdict of a test: undecided unless `probability`, its chance of error, is small."""
    if probability <= LEVEL:
        return "agrees" if agrees else "contradicts"
    return "undecided"


def worst(verdicts: Iterable[Judgement]) -> Judgement:
    """The verdict on a claim with several parts: the worst one."""
    order: tuple[Judgement, ...] = ("contradicts", "undecided", "agrees")
    return min(verdicts, key=order.index)


class Line(NamedTuple):
    """A line fitted by weighted least squares: y = level + slope · (x − center)."""

    slope: float
    error: float
    """Standard error of the slope, if the weights are the inverse variances of y."""
    level: float
    center: float


def fit_line(x: Array, y: Array, weight: Array) -> Line:
    """Fit a line by weighted least squares."""
    center = np.average(x, weights=weight)
    spread = float(np.sum(weight * (x - center) ** 2))
    slope = float(np.sum(weight * (x - center) * y)) / spread
    level = float(np.average(y, weights=weight))
    return Line(slope, 1 / math.sqrt(spread), level, center)


class Exponent(NamedTuple):
    """The exponent of a power law fitted to mean counts."""

    value: float
    error: float
    """Standard error of the exponent."""
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

    Takes for each x a sample of counts. Their variance is assumed proportional to their mean,
    as for numbers of objects that are far apart and so independent. The factor is estimated
    from all samples together because each alone may be small.
    """
    log_x = np.log(np.asarray(x, dtype=np.float64))
    counts = [np.asarray(sample, dtype=np.float64) for sample in samples]
    means = np.array([c.mean() for c in counts])
    sizes = np.array([c.size for c in counts])
    freedom = int(np.sum(sizes - 1))
    dispersion = sum(float(np.sum((c - c.mean()) ** 2)) / c.mean() for c in counts) / freedom
    weight = sizes * means / dispersion
    line = fit_line(log_x, np.log(means), weight)
    residual = np.log(means) - line.level - line.slope * (log_x - line.center)
    return Exponent(
        value=line.slope,
        error=line.error,
        freedom=freedom,
        prefactor=math.exp(line.level - line.slope * line.center),
        chi2=float(np.sum(weight * residual**2)),
    )


def fit_slope(x: Array, y: Array) -> Mean:
    """The slope of a line through points that are independent, with its standard error.

    The error is White's, from the residuals themselves: they need not have equal variances.
    """
    line = fit_line(x, y, np.ones_like(x))
    lever = x - line.center
    residual = y - line.level - line.slope * lever
    return Mean(line.slope, float(np.sqrt(np.sum((lever * residual) ** 2)) / np.sum(lever**2)))


def median_interval(sample: ArrayLike, probability: float) -> tuple[float, float]:
    """An interval that misses the median of independent numbers with at most this probability.

    Its ends are order statistics: the ranks at which a sign test no longer rejects. It is exact
    for every law. If there are too few numbers, the interval is the whole line.
    """
    from scipy.stats import binom

    x = np.sort(np.asarray(sample, dtype=np.float64))
    below = int(binom.ppf(probability / 2, x.size, 0.5))
    if binom.cdf(below, x.size, 0.5) > probability / 2:
        below -= 1  # at most this many numbers lie below the median by chance
    if below < 0:
        return -math.inf, math.inf
    return float(x[below]), float(x[x.size - 1 - below])


def less(sample: Sequence[float], expected: float) -> Judgement:
    """Whether the mean of independent numbers is less than expected, at a fifth of the level."""
    from scipy.stats import t

    m = mean(sample)
    probability = float(t.sf(m.sigmas(expected), len(sample) - 1))
    return unlikely(5 * probability, m.value < expected)
