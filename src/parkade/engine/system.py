"""A model in the form the compiled code wants."""

from __future__ import annotations

from typing import NamedTuple

from parkade.base.types import Array

SMALL_D = 8
"""From this dimension on, two matrix products per tile beat vector loops."""


class System(NamedTuple):
    """The matrices, frozen tokens and mask of a model, and how its sums are computed."""

    A: Array  # log2(e) β KᵀQ: scores in base 2
    V: Array
    B: Array  # V − λI, less the generator of a turning frame
    frozen: Array  # (m, d)
    weights: Array  # (m,)
    causal: bool
    table: Array  # coefficients of harmonic sums; no columns: direct sums
    accuracy: float  # largest error that harmonic sums may have in a mean μ_k
    floor: float  # forces below this share of the terms they are made of are rounding; or 0
    stretch: float  # largest step as a multiple of the time passed; or infinite


def unrolled(d: int) -> tuple[int, ...]:
    """A tuple whose *length* tells the compiler a small d as a constant; (0,) for large d."""
    return (0,) * d if d < SMALL_D else (0,)
