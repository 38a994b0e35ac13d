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

_EPSILON = float(np.finfo(np.float64).eps)
_STRETCH = 0.1
_SHARPEST = 1e-12


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


def prepare(
    model: Attention,
    frozen: Array | None = None,
    weights: Array | None = None,
    frame: Frame | None = None,
    table: Array | None = None,
    accuracy: float = 0.0,
) -> System:
    """Prepare `model`, with optional frozen tokens, for the kernels; tokens in `frame`.

    Where V attracts, every cluster of causal attention has a leader, whose force is a sum of
    terms as small as itself. Where it does not, tokens come to rest where large terms cancel, and
    what rounding leaves of them must not be taken for a force: see `System.floor`.

    Where V is defective, tokens approach an equilibrium like 1/t that repels them on its other
    side. Steps much longer than t might take them across.
    """
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
        floor=0.0 if frame.attracts else max(_rounding(A), accuracy),
        stretch=_STRETCH if frame.drifts else np.inf,
    )


def _rounding(A: Array) -> float:
    """The error of a force, relative to the terms it is made of; tests measure half of this.

    A score is as large as β|KᵀQ|, and so is its rounding error, which is one of its weight. But
    where β is huge, most tokens see one other alone, whose weight is exact.
    """
    return min(_EPSILON * (4.0 + 0.5 * float(np.linalg.norm(A, 2)) / LOG2E), _SHARPEST)


def unrolled(d: int) -> tuple[int, ...]:
    """A tuple whose *length* tells the compiler a small d as a constant; (0,) for large d."""
    return (0,) * d if d < SMALL_D else (0,)
