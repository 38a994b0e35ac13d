"""A model in the form the compiled code wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parkade.engine.simd import LOG2E
from parkade.frame import Frame, rest_frame
from parkade.types import Array

if TYPE_CHECKING:
    from parkade.attention import Attention

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


def prepare(
    model: Attention,
    frozen: Array | None = None,
    weights: Array | None = None,
    frame: Frame | None = None,
    table: Array | None = None,
    accuracy: float = 0.0,
) -> System:
    """Prepare `model`, with optional frozen tokens, for the kernels; tokens in `frame`."""
    frame = frame or rest_frame(model)
    fixed = np.empty((0, model.d)) if frozen is None else frozen
    A = LOG2E * model.beta * model.K.T @ model.Q
    if not np.array_equal(A, A[0, 0] * np.eye(model.d)):  # else no frame changes it
        A = frame.enter(frame.enter(A).T).T
    return System(
        A=np.ascontiguousarray(A),
        V=np.ascontiguousarray(frame.V),
        B=np.ascontiguousarray(frame.B),
        frozen=np.ascontiguousarray(frame.enter(fixed)),
        weights=np.ones(len(fixed)) if weights is None else np.ascontiguousarray(weights),
        causal=model.mask == "causal",
        table=np.empty((0, 0)) if table is None else table,
        accuracy=accuracy,
    )


def unrolled(d: int) -> tuple[int, ...]:
    """A tuple whose *length* tells the compiler a small d as a constant; (0,) for large d."""
    return (0,) * d if d < SMALL_D else (0,)
