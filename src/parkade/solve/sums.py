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

_PER_TOL, _COARSEST, _FINEST = 1e-5, 1e-10, 1e-14
_LARGEST = 100_000  # harmonics
_SMALLEST = 1e-280  # β: ratios of its powers must be numbers
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

    frozen = float(np.sum(frozen_weights))
    pairs = n * (n + 2.0 * len(frozen_weights)) / (2 if model.mask == "causal" else 1)
    direct = 1.75e-10 * pairs * (model.d + 8)
    if option == "direct":
        return Sums("direct", "asked for", direct)
    obstacle = _obstacle(model, whole=whole)
    if obstacle:
        if option == "harmonic":
            raise InputError(f"harmonic sums cannot be used: {obstacle}; use sums='direct'")
        return Sums("direct", obstacle, direct)
    from parkade.engine.features import DIMENSIONS

    functions = DIMENSIONS[model.d]
    rate = model.beta * float((model.K.T @ model.Q)[0, 0])
    accuracy = min(_COARSEST, max(_FINEST, _PER_TOL * tol))
    if option == "auto" and _PER_TOL * tol < _FINEST:
        return Sums("direct", f"tol={tol:g} asks for more than harmonic sums give", direct)
    if option == "auto" and ROUNDING * frozen > accuracy:
        return Sums("direct", f"harmonic sums would drown in frozen weights of {frozen:g}", direct)
    # Half of the error for what is left out; but a token that has more than accuracy/ROUNDING
    # others to bear is summed directly.
    tail = max(accuracy / (2 * (n + frozen)), ROUNDING / 4)
    passes = 1 if model.mask == "causal" else 2
    size = functions.least_size(rate, tail)  # a table may be too large to be tried
    if option == "harmonic" and size > _LARGEST:
        raise InputError(
            f"harmonic sums cannot be used: β={rate:g} needs some {size:.2g} harmonics, and the "
            f"limit is {_LARGEST:g}; use sums='direct'"
        )
    if size > _LARGEST or (option == "auto" and passes * functions.seconds(size, n) > direct):
        return Sums("direct", f"faster for n={n} tokens", direct)
    table = _table(model.d, rate, tail)
    cost = passes * functions.seconds(table.shape[1], n)
    if option == "auto" and cost > direct:
        return Sums("direct", f"faster for n={n} tokens", direct)
    reason = "asked for" if option == "harmonic" else f"faster for n={n} tokens"
    return Sums("harmonic", reason, cost, table, accuracy)


@lru_cache(maxsize=32)
def _table(d: int, beta: float, tail: float) -> Array:
    from parkade.engine.features import DIMENSIONS

    table: Array = DIMENSIONS[d].table(beta, tail)
    return table


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
