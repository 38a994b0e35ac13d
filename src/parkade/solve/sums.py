"""Which sums for which run: direct ones, or harmonic ones in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.attention import Attention

SumsOption: TypeAlias = Literal["auto", "direct", "harmonic"]

# The error that harmonic sums may have in a mean: a share of tol, within limits.
_PER_TOL = 1e-5  # far below the error of a step: errors of sums add up over time
_COARSEST = 1e-10  # however large tol is: a few harmonics more cost little
_FINEST = 1e-14  # about what float64 can give

_LARGEST = 100_000  # harmonics: a table of some megabytes
_SMALLEST = 1e-280  # β: ratios of its powers must not overflow
_NAMES = {2: "Fourier sums, {} modes", 3: "spherical harmonics, {} of them"}


@dataclass(frozen=True)
class Sums:
    """How the sums of a run are computed, and why."""

    name: Literal["direct", "harmonic"]
    reason: str
    seconds: float  # about what one velocity takes on one core
    table: Array | None = field(default=None, repr=False)
    accuracy: float = 0.0

    def describe(self, d: int) -> str:
        """A few words for the stats of a run."""
        from parkade.engine.system import SMALL_D

        if self.table is not None:
            return _NAMES[d].format(self.table.shape[1])
        return "direct sums, tiles" if d < SMALL_D else "direct sums, BLAS"


def choose(
    model: Attention,
    n: int,
    tol: float,
    option: SumsOption = "auto",
    frozen_weights: Sequence[float] | Array = (),
    *,
    whole: bool = False,
) -> Sums:
    """Choose the sums for n tokens, and maybe frozen ones, and prepare their coefficients.

    `whole` tells that the matrix of all weights is needed.
    """
    from parkade.engine.harmonic import ROUNDING
    from parkade.engine.pairwise import seconds as pairwise_seconds
    from parkade.engine.series import SERIES

    frozen = float(np.sum(frozen_weights))
    pairs = n * (n + 2.0 * len(frozen_weights)) / (2 if model.mask == "causal" else 1)
    direct = pairwise_seconds(pairs, model.d)
    if option == "direct":
        return Sums("direct", "asked for", direct)
    obstacle = _obstacle(model, whole=whole)
    if obstacle:
        if option == "harmonic":
            raise InputError(f"harmonic sums cannot be used: {obstacle}; use sums='direct'")
        return Sums("direct", obstacle, direct)
    series = SERIES[model.d]
    rate = model.beta * float((model.K.T @ model.Q)[0, 0])
    accuracy = min(_COARSEST, max(_FINEST, _PER_TOL * tol))
    if option == "auto" and _PER_TOL * tol < _FINEST:
        return Sums("direct", f"tol={tol:g} asks for more than harmonic sums give", direct)
    if option == "auto" and ROUNDING * frozen > accuracy:
        return Sums("direct", f"harmonic sums would drown in frozen weights of {frozen:g}", direct)
    # Half of the error is for what is left out. No less than ROUNDING/4: a token with more than
    # accuracy/ROUNDING others is summed directly.
    tail = max(accuracy / (2 * (n + frozen)), ROUNDING / 4)
    passes = 1 if model.mask == "causal" else 2
    size = series.rough_size(rate, tail)  # before the table, which may be too large to make
    if option == "harmonic" and size > _LARGEST:
        raise InputError(
            f"harmonic sums cannot be used: β={rate:g} needs some {size:.2g} harmonics, and the "
            f"limit is {_LARGEST:g}; use sums='direct'"
        )
    if size > _LARGEST or (option == "auto" and passes * series.seconds(size, n) > direct):
        return Sums("direct", f"faster for n={n} tokens", direct)
    table = _table(model.d, rate, tail)
    cost = passes * series.seconds(table.shape[1], n)
    if option == "auto" and cost > direct:
        return Sums("direct", f"faster for n={n} tokens", direct)
    reason = "asked for" if option == "harmonic" else f"faster for n={n} tokens"
    return Sums("harmonic", reason, cost, table, accuracy)


@lru_cache(maxsize=32)
def _table(d: int, beta: float, tail: float) -> Array:
    from parkade.engine.series import SERIES

    return SERIES[d].table(beta, tail)


def _obstacle(model: Attention, *, whole: bool) -> str:
    """Why harmonic sums cannot be used, if so."""
    product = model.K.T @ model.Q
    if model.d not in _NAMES:
        return f"they are known for d = 2 and 3, and this is d={model.d}"
    if not np.array_equal(product, product[0, 0] * np.eye(model.d)):
        return "KᵀQ is not a multiple of the identity"
    rate = model.beta * product[0, 0]
    if not rate > _SMALLEST:
        return "β KᵀQ is not positive" + (f", but for {rate:g}" if rate > 0 else "")
    if whole:
        return "the implicit method needs all weights under full attention"
    return ""
