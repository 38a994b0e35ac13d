"""Choose how a run computes its sums: directly, or in linear time with harmonics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.model.parts.mask import Window
from parkade.model.transformer import Transformer
from parkade.solve.options import Problem
from parkade.solve.planning import rules

MOST_HARMONICS = 100_000
"""The most harmonics of a sum: a table of some megabytes."""

SMALLEST_BETA = 1e-280
"""Harmonic sums need a larger β: ratios of its powers must not overflow."""

_LARGEST_BY_LENGTH = {2: 2_000, 3: 100_000}  # the most harmonics, if the lengths of queries differ
_NAMES = {2: "Fourier sums, {} modes", 3: "spherical harmonics, {} of them"}
_DIRECT = "direct sums, tiles", "direct sums, BLAS"  # for small and large d

# Seconds of a naive velocity: a Python call, and NumPy's exponential for every pair.
_PRODUCT_SECONDS = 1e-10  # per multiplication of matrix products
_CALL_SECONDS, _NAIVE_PAIR_SECONDS = 5e-5, 2e-8
_PARTS_SECONDS = 2e-6  # of a velocity of several parts, for any number of tokens


@dataclass(frozen=True)
class Sums:
    """How the sums of a run are computed, and why."""

    name: Literal["direct", "harmonic", "naive"]
    reason: str
    seconds: float  # approximate time of one velocity on one core
    direct_seconds: float  # the same for direct sums
    table: Array | None = field(default=None, repr=False)
    lengths: Array | None = field(default=None, repr=False)
    accuracy: float = 0.0
    parts: bool = False  # whether the model has more than one plain head

    def describe(self, d: int) -> str:
        """A short description for the stats of a run."""
        from parkade.engine.system import SMALL_D

        if self.name == "naive":
            return "naive velocity, in Python"
        if self.parts:
            return "direct sums over all heads"
        if self.table is not None:
            any_query = "" if self.lengths is None else ", for any Q and K"
            return _NAMES[d].format(self.table.shape[1]) + any_query
        return _DIRECT[d >= SMALL_D]


def descriptions(d: int) -> tuple[str, str]:
    """How stats describe direct and harmonic sums for d = 2 or 3; {} is the number of harmonics."""
    return _DIRECT[0], _NAMES[d]


def together(used: Sequence[Sums], d: int) -> tuple[str, str, str]:
    """The names, descriptions and reasons of the sums that a run used one after the other."""
    names, engines, reasons = (
        list(dict.fromkeys(column))
        for column in zip(*((s.name, s.describe(d), s.reason) for s in used), strict=True)
    )
    few = len(engines) <= 2
    engine = ", then ".join(engines) if few else f"{engines[0]}, …, then {engines[-1]}"
    return " and ".join(names), engine, "; ".join(reasons)


def _refuse_harmonic(problem: Problem) -> None:
    if problem.options.sums == "harmonic":
        raise InputError(
            f"harmonic sums cannot be used: they need a single attention head, got "
            f"{problem.model.label}; use sums='auto'"
        )


def naive(problem: Problem, n: int) -> Sums:
    """The sums of a model that no kernel covers: those of its naive velocity."""
    _refuse_harmonic(problem)
    seconds = _CALL_SECONDS + _NAIVE_PAIR_SECONDS * n * n
    return Sums("naive", "no kernel covers this model", seconds, seconds)


def parts_seconds(attention: float, heads: int, n: int, d: int, width: int) -> float:
    """Estimate the seconds of a velocity of several parts, whose sums take `attention` seconds."""
    return attention + _PARTS_SECONDS + _PRODUCT_SECONDS * n * d * (width + d * heads)


def of_transformer(problem: Problem, n: int) -> Sums:
    """The sums of a transformer: direct ones over all heads."""
    from parkade.engine.sums.pairwise import seconds

    model = problem.model
    assert isinstance(model, Transformer)
    _refuse_harmonic(problem)
    ranks = [len(head.Q) for head in model.heads]
    pairs = n * n / 2 if model.triangular else float(n * n)
    if isinstance(model.mask, Window):
        pairs = min(pairs, float(n * model.mask.number))
    width = 0 if model.mlp is None else len(model.mlp.W1)
    attention = sum(seconds(pairs, rank) for rank in ranks)
    cost = parts_seconds(attention, len(ranks), n, model.d, width)
    return Sums("direct", "a model of several parts", cost, cost, parts=True)


def choose(problem: Problem, n: int, *, obstacle: str = "", preference: str = "") -> Sums:
    """Choose the sums for n tokens plus any frozen ones, and prepare their coefficients.

    An `obstacle` rules out harmonic sums. A `preference` rules them out unless requested.
    """
    from parkade.engine.sums.harmonic import ROUNDING
    from parkade.engine.sums.pairwise import seconds as pairwise_seconds

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
    accuracy = rules.allowed_error(tol)
    if asked == "auto" and rules.too_fine(tol):
        return directly(f"tol={tol:g} needs more accuracy than harmonic sums have")
    if asked == "auto" and ROUNDING * frozen > accuracy:
        return directly(f"frozen weights of {frozen:g} make harmonic sums inaccurate")
    tail = rules.allowed_tail(accuracy, ROUNDING, n + frozen)
    if not _rate(model) > 0:  # weights may all be small, so only rounding errors may be omitted
        tail = ROUNDING / 8
    cost, table, lengths = _harmonic(problem, n, tail, direct)
    if table is None or (asked == "auto" and cost > direct):
        return directly(f"faster for n={n} tokens")
    if asked == "auto" and preference:
        return directly(preference)
    reason = "requested" if asked == "harmonic" else f"faster for n={n} tokens"
    return Sums("harmonic", reason, cost, direct, table, lengths, accuracy)


def _harmonic(
    problem: Problem, n: int, tail: float, direct: float
) -> tuple[float, Array | None, Array | None]:
    """The seconds of harmonic sums, their table, and that by query length; None if too large."""
    from parkade.engine.sums.series import SERIES

    model, asked = problem.model, problem.options.sums
    series, (low, high), plain = SERIES[model.d], _lengths(model), _rate(model) > 0
    seconds = series.seconds if plain else series.seconds_by_length
    limit = MOST_HARMONICS if plain else _LARGEST_BY_LENGTH[model.d]
    passes = 1 if model.triangular else 2
    size = series.rough_size(high, tail)  # estimated first: the table may be too large to compute
    if asked == "harmonic" and size > limit:
        raise InputError(
            f"harmonic sums cannot be used: β|KᵀQ|={high:g} needs about {size:.2g} harmonics, the "
            f"limit is {limit:g}; use sums='direct'"
        )
    if size > limit or (asked == "auto" and passes * seconds(size, n) > direct):
        return direct, None, None
    if plain:
        table, lengths = _table(model.d, high, tail), None
    else:
        table, lengths = _table_by_length(model.d, low, high, tail)
    return passes * seconds(table.shape[1], n), table, lengths


@lru_cache(maxsize=32)
def _table(d: int, beta: float, tail: float) -> Array:
    from parkade.engine.sums.series import SERIES

    return SERIES[d].table(beta, tail)


@lru_cache(maxsize=32)
def _table_by_length(d: int, low: float, high: float, tail: float) -> tuple[Array, Array]:
    from parkade.engine.sums.lengths import LENGTHS

    return LENGTHS[d](low, high, tail)


def _rate(model: Model) -> float:
    """The factor c, if β KᵀQ = c·I with c > 0; else 0."""
    product = model.product
    if product is None or model.beta is None:
        return 0.0
    multiple = np.array_equal(product, product[0, 0] * np.eye(model.d))
    return max(0.0, model.beta * float(product[0, 0])) if multiple else 0.0


def _lengths(model: Model) -> tuple[float, float]:
    """The smallest and the largest length of a query β KᵀQ x."""
    rate = _rate(model)
    if rate > 0 or model.product is None or model.beta is None:
        return rate, rate
    sizes = np.linalg.svd(model.product, compute_uv=False)
    return model.beta * float(sizes[-1]), model.beta * float(sizes[0])


def _obstacle(model: Model) -> str:
    """Why harmonic sums cannot be used; empty if they can."""
    if model.d not in _NAMES:
        return f"d={model.d} is not 2 or 3"
    if model.product is None:
        return "the model has no KᵀQ"
    high = _lengths(model)[1]
    if not high > SMALLEST_BETA:
        return f"β|KᵀQ| = {high:g} is too small"
    return ""
