"""Which sums for which run: direct ones, or harmonic ones in linear time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.solve.options import Problem

# The error that harmonic sums may have in a mean: a share of tol, within limits.
_PER_TOL = 1e-5  # far below the error of a step: errors of sums add up over time
_COARSEST = 1e-10  # however large tol is: a few harmonics more cost little
_FINEST = 1e-14  # about what float64 can give

_LARGEST = 100_000  # harmonics: a table of some megabytes
_SMALLEST = 1e-280  # β: ratios of its powers must not overflow
_NAMES = {2: "Fourier sums, {} modes", 3: "spherical harmonics, {} of them"}

# Seconds of a naive velocity: a call into Python, and NumPy's exponentials for every pair.
_CALL_SECONDS, _NAIVE_PAIR_SECONDS = 5e-5, 2e-8


@dataclass(frozen=True)
class Sums:
    """How the sums of a run are computed, and why."""

    name: Literal["direct", "harmonic", "naive"]
    reason: str
    seconds: float  # about what one velocity takes on one core
    direct_seconds: float  # the same for direct sums
    table: Array | None = field(default=None, repr=False)
    accuracy: float = 0.0

    def describe(self, d: int) -> str:
        """A few words for the stats of a run."""
        from parkade.engine.system import SMALL_D

        if self.name == "naive":
            return "naive velocity, in Python"
        if self.table is not None:
            return _NAMES[d].format(self.table.shape[1])
        return "direct sums, tiles" if d < SMALL_D else "direct sums, BLAS"


def naive(problem: Problem, n: int) -> Sums:
    """The velocity that the model itself defines, where no kernel covers it."""
    if problem.options.sums == "harmonic":
        raise InputError(
            f"harmonic sums cannot be used: they are for one attention head, and this is "
            f"{problem.model.label}; use sums='auto'"
        )
    seconds = _CALL_SECONDS + _NAIVE_PAIR_SECONDS * n * n
    return Sums("naive", "no kernel covers this model", seconds, seconds)


def choose(problem: Problem, n: int, *, obstacle: str = "", preference: str = "") -> Sums:
    """Choose the sums for n tokens, and maybe frozen ones, and prepare their coefficients.

    An `obstacle` forbids harmonic sums; a `preference` against them decides where nobody asks
    for them.
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
        return directly("asked for")
    obstacle = _obstacle(model) or obstacle
    if obstacle:
        if asked == "harmonic":
            raise InputError(f"harmonic sums cannot be used: {obstacle}; use sums='direct'")
        return directly(obstacle)
    accuracy = min(_COARSEST, max(_FINEST, _PER_TOL * tol))
    if asked == "auto" and _PER_TOL * tol < _FINEST:
        return directly(f"tol={tol:g} asks for more than harmonic sums give")
    if asked == "auto" and ROUNDING * frozen > accuracy:
        return directly(f"harmonic sums would drown in frozen weights of {frozen:g}")
    # Half of the error is for what is left out. No less than ROUNDING/4: a token with more than
    # accuracy/ROUNDING others is summed directly.
    tail = max(accuracy / (2 * (n + frozen)), ROUNDING / 4)
    cost, table = _harmonic(problem, n, tail, direct)
    if table is None or (asked == "auto" and cost > direct):
        return directly(f"faster for n={n} tokens")
    if asked == "auto" and preference:
        return directly(preference)
    reason = "asked for" if asked == "harmonic" else f"faster for n={n} tokens"
    return Sums("harmonic", reason, cost, direct, table, accuracy)


def _harmonic(problem: Problem, n: int, tail: float, direct: float) -> tuple[float, Array | None]:
    """The cost of harmonic sums and their coefficients; None if there are too many of them."""
    from parkade.engine.series import SERIES

    model, asked = problem.model, problem.options.sums
    series, rate = SERIES[model.d], _rate(model)
    passes = 1 if model.triangular else 2
    size = series.rough_size(rate, tail)  # before the table, which may be too large to make
    if asked == "harmonic" and size > _LARGEST:
        raise InputError(
            f"harmonic sums cannot be used: β={rate:g} needs some {size:.2g} harmonics, and the "
            f"limit is {_LARGEST:g}; use sums='direct'"
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
    """Why harmonic sums cannot be used, if so."""
    if model.d not in _NAMES:
        return f"they are known for d = 2 and 3, and this is d={model.d}"
    product = model.product
    if product is None or not np.array_equal(product, product[0, 0] * np.eye(model.d)):
        return "KᵀQ is not a multiple of the identity"
    rate = _rate(model)
    if not rate > _SMALLEST:
        return "β KᵀQ is not positive" + (f", but for {rate:g}" if rate > 0 else "")
    return ""
