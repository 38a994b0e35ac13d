"""Choose the sums of a run: direct, or harmonic in linear time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.solve.options import Problem

# The error allowed in a mean computed with harmonic sums: a fraction of tol, within limits.
_PER_TOL = 1e-5  # far below the error of a step: errors of sums add up over time
_COARSEST = 1e-10  # for any tol: a few more harmonics cost little
_FINEST = 1e-14  # about the limit of float64

_LARGEST = 100_000  # harmonics: a table of some megabytes
_SMALLEST = 1e-280  # β: ratios of its powers must not overflow
_NAMES = {2: "Fourier sums, {} modes", 3: "spherical harmonics, {} of them"}

# Seconds of a naive velocity: a Python call, and NumPy's exponential for every pair.
_CALL_SECONDS, _NAIVE_PAIR_SECONDS = 5e-5, 2e-8


@dataclass(frozen=True)
class Sums:
    """How the sums of a run are computed, and why."""

    name: Literal["direct", "harmonic", "naive"]
    reason: str
    seconds: float  # approximate time of one velocity on one core
    direct_seconds: float  # the same for direct sums
    table: Array | None = field(default=None, repr=False)
    accuracy: float = 0.0

    def describe(self, d: int) -> str:
        """A short description for the stats of a run."""
        from parkade.engine.system import SMALL_D

        if self.name == "naive":
            return "naive velocity, in Python"
        if self.table is not None:
            return _NAMES[d].format(self.table.shape[1])
        return "direct sums, tiles" if d < SMALL_D else "direct sums, BLAS"


def naive(problem: Problem, n: int) -> Sums:
    """The model's naive velocity, if no kernel covers the model."""
    if problem.options.sums == "harmonic":
        raise InputError(
            f"harmonic sums cannot be used: they need a single attention head, got "
            f"{problem.model.label}; use sums='auto'"
        )
    seconds = _CALL_SECONDS + _NAIVE_PAIR_SECONDS * n * n
    return Sums("naive", "no kernel covers this model", seconds, seconds)


def choose(problem: Problem, n: int, *, obstacle: str = "", preference: str = "") -> Sums:
    """Choose the sums for n tokens plus any frozen ones, and prepare their coefficients.

    An `obstacle` rules out harmonic sums. A `preference` rules them out unless requested.
    """
    from parkade.engine.harmonic import ROUNDING
    from parkade.engine.pairwise import seconds as pairwise_seconds

    model, options, weights = problem.model, problem.options, problem.fixed.weights
    mask_pairs = n * n / 2 if model.triangular else float(n * n)
    both = 1 if model.triangular else 2
    pairs = mask_pairs + n * len(weights) * both
    direct = pairwise_seconds(pairs, model.d)
    asked, tol, frozen = options.sums, options.tol, float(np.sum(weights))

    def directly(reason: str) -> Sums:
        return Sums("direct", reason, direct, direct)

    if asked == "direct":
        return directly("requested")
    obstacle = _obstacle(model) or obstacle
    if obstacle:
        if asked == "harmonic":
            raise InputError(f"harmonic sums cannot be used: {obstacle}; use sums='direct'")
        return directly(obstacle)
    accuracy = min(_COARSEST, max(_FINEST, _PER_TOL * tol))
    if asked == "auto" and _PER_TOL * tol < _FINEST:
        return directly(f"tol={tol:g} needs more accuracy than harmonic sums have")
    if asked == "auto" and ROUNDING * frozen > accuracy:
        return directly(f"frozen weights of {frozen:g} make harmonic sums inaccurate")
    # Half of the error is for omitted terms. No less than ROUNDING/4: a token with more than
    # accuracy/ROUNDING others is summed directly.
    tail = max(accuracy / (2 * (n + frozen)), ROUNDING / 4)
    cost, table = _harmonic(problem, n, tail, direct)
    if table is None or (asked == "auto" and cost > direct):
        return directly(f"faster for n={n} tokens")
    if asked == "auto" and preference:
        return directly(preference)
    reason = "requested" if asked == "harmonic" else f"faster for n={n} tokens"
    return Sums("harmonic", reason, cost, direct, table, accuracy)


def _harmonic(problem: Problem, n: int, tail: float, direct: float) -> tuple[float, Array | None]:
    """The cost of harmonic sums and their coefficients; None if they are too many."""
    from parkade.engine.series import SERIES

    model, asked = problem.model, problem.options.sums
    series, rate = SERIES[model.d], _rate(model)
    passes = 1 if model.triangular else 2
    size = series.rough_size(rate, tail)  # first: the table may be too large to compute
    if asked == "harmonic" and size > _LARGEST:
        raise InputError(
            f"harmonic sums cannot be used: β={rate:g} needs about {size:.2g} harmonics, the limit "
            f"is {_LARGEST:g}; use sums='direct'"
        )
    if size > _LARGEST or (asked == "auto" and passes * series.seconds(size, n) > direct):
        return direct, None
    table = _table(model.d, rate, tail)
    return passes * series.seconds(table.shape[1], n), table


@lru_cache(maxsize=32)
def _table(d: int, beta: float, tail: float) -> Array:
    from parkade.engine.series import SERIES

    return SERIES[d].table(beta, tail)


def _rate(model: Model) -> float:
    """The factor c, if β KᵀQ = c·I."""
    if model.product is None or model.beta is None:
        return 0.0
    return model.beta * float(model.product[0, 0])


def _obstacle(model: Model) -> str:
    """Why harmonic sums cannot be used; empty if they can."""
    if model.d not in _NAMES:
        return f"d={model.d} is not 2 or 3"
    product = model.product
    if product is None or not np.array_equal(product, product[0, 0] * np.eye(model.d)):
        return "KᵀQ is not a multiple of the identity"
    rate = _rate(model)
    if not rate > _SMALLEST:
        return f"β KᵀQ = {rate:g} is too small" if rate > 0 else "β KᵀQ is not positive"
    return ""
