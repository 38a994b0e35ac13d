"""Lower a model to the engine's input: arrays in a frame."""

from __future__ import annotations

import numpy as np

from parkade.base.constants import EPSILON
from parkade.base.errors import ParkadeError
from parkade.base.types import Array
from parkade.engine.system import LOG2E, System
from parkade.model.head import Head
from parkade.model.mask import Causal, Full
from parkade.model.model import Model
from parkade.model.transformer import Transformer
from parkade.solve.frame import Frame, rest_frame

_STRETCH = 0.1  # longest step as a multiple of t, if V is defective
_SHARPEST = 1e-12  # largest relative part of a force that may count as rounding


def kernel_head(model: Model) -> Head | None:
    """The head of a model with one head, a plain mask and no other parts; None otherwise."""
    if isinstance(model, Transformer) and isinstance(model.mask, (Causal, Full)):
        return model.heads[0] if len(model.heads) == 1 and not model.parts else None
    return None


def prepare(
    model: Model,
    frozen: Array | None = None,
    weights: Array | None = None,
    frame: Frame | None = None,
    table: Array | None = None,
    accuracy: float = 0.0,
    lengths: Array | None = None,
) -> System:
    """Prepare `model`, with optional frozen tokens, for the kernels, in the given `frame`.

    If V attracts, every cluster of causal attention has a leader, whose force is a sum of terms
    as small as itself. If it does not, tokens come to rest where large terms cancel, and the
    remaining rounding errors must not count as a force: see `System.floor`.

    If V is defective, tokens approach an equilibrium like 1/t that repels them on its other
    side. Steps much longer than t could take them across.
    """
    head = kernel_head(model)
    if head is None:
        raise ParkadeError(f"there is no kernel for {model!r}")
    frame = frame or rest_frame(head)
    fixed = np.empty((0, model.d)) if frozen is None else frozen
    A = LOG2E * head.beta * head.K.T @ head.Q
    if not np.array_equal(A, A[0, 0] * np.eye(model.d)):  # otherwise no frame changes it
        A = frame.enter(frame.enter(A).T).T
    return System(
        query=np.ascontiguousarray(A),
        value=np.ascontiguousarray(frame.V),
        own_value=np.ascontiguousarray(frame.B),
        frozen=np.ascontiguousarray(frame.enter(fixed)),
        frozen_weights=np.ones(len(fixed)) if weights is None else np.ascontiguousarray(weights),
        causal=model.triangular,
        table=table,
        lengths=lengths,
        accuracy=accuracy,
        floor=0.0 if frame.attracts else max(_rounding(A), accuracy),
        stretch=_STRETCH if frame.drifts else np.inf,
    )


def _rounding(A: Array) -> float:
    """The error of a force relative to its terms; the tests measure half of this.

    A score has size β|KᵀQ|. Its rounding error is ε times that, and becomes the relative error
    of a weight. But if β is huge, most tokens attend to a single one, whose weight is exact.
    """
    return min(EPSILON * (4.0 + 0.5 * float(np.linalg.norm(A, 2)) / LOG2E), _SHARPEST)
