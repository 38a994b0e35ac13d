"""A model with one head as matrices and arrays, in the form that the compiled code needs.

Token k makes a *query*, and every token it attends to offers a *key* and a *value*:

    query   A x_k with A = log2(e) β KᵀQ, so that scores are in base 2,
    keys    the tokens x_j themselves, and the frozen ones,
    values  V x_j, of the tokens and of the frozen ones.

The score of token k with key j is ⟨A x_k, x_j⟩, its weight 2^score, which counts once for a token
and `frozen_weights` times for a frozen one. K and Q only appear together, so the keys need no
matrix of their own: it is part of the query. Values are summed first and multiplied by V
afterwards, once per token instead of once per pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array

LOG2E = 1.4426950408889634
"""log2(e). Scores are kept in base 2, so that weights are 2^score."""

SMALL_D = 8
"""From this dimension on, two matrix products per tile beat vector loops."""

Dims: TypeAlias = tuple[int, ...]
"""A tuple whose *length* tells the compiler the dimension; see `unrolled`."""


class System(NamedTuple):
    """The matrices, frozen tokens and mask of a model, and how its sums are computed."""

    query: Array  # log2(e) β KᵀQ: takes x_k to its query
    value: Array  # V: takes a mean of keys to the mean of their values
    own_value: Array  # V − λI, less the generator of a turning frame: acts on x_k itself
    frozen: Array  # (m, d): keys besides the tokens
    frozen_weights: Array  # (m,): how many tokens each of them stands for
    causal: bool  # whether the keys of token k are those of the tokens j ≤ k
    table: Any  # an array, the coefficients of harmonic sums; or None: direct sums
    lengths: Any  # the same by the length of a query; or None: β KᵀQ is a positive multiple of I
    accuracy: float  # largest error that harmonic sums may have in a mean μ_k
    floor: float  # forces below this share of the terms they are made of are rounding; or 0
    stretch: float  # largest step as a multiple of the time passed; or infinite
    leaders: NDArray[np.int64]  # (L,): tokens on which others rest, in their order; see `rest`
    followers: Array  # (L, padded n): how many of the tokens that rest there token k attends to


def unrolled(d: int) -> Dims:
    """A tuple whose *length* tells the compiler a small d as a constant; (0,) for large d."""
    return (0,) * d if d < SMALL_D else (0,)
