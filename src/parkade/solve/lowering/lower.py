"""Convert a model to the input of the engine: arrays of numbers, in a frame."""

from __future__ import annotations

import numpy as np

from parkade.base.constants import EPSILON
from parkade.base.errors import ParkadeError
from parkade.base.types import Array
from parkade.engine.field import field as kernels
from parkade.engine.field.field import EVERYTHING, Field
from parkade.engine.system import LOG2E, System
from parkade.model.model import Model
from parkade.model.parts.head import Head
from parkade.model.parts.mask import Causal, Full, Prefix, Window
from parkade.model.parts.mlp import ACTIVATIONS
from parkade.model.parts.norm import NGPT
from parkade.model.transformer import Transformer
from parkade.solve.lowering.frame import Frame, rest_frame
from parkade.solve.options import Problem

NORMS = {
    "post": kernels.POST,
    "pre": kernels.PRE,
    "peri": kernels.PERI,
    "ngpt": kernels.NGPT,
    "sqrt": kernels.SQRT,
}
"""The numbers that stand for normalisations in the engine, by name."""

LONGEST_STRETCH = 0.1
"""The longest step as a multiple of the time t, if V is defective."""

RANK_TOLERANCE = 1e-14
"""Singular values of V below this, relative to the largest, count as zero."""

MOST_ROUNDING = 1e-12
"""The largest relative part of a force that may count as rounding."""


def kernel_head(model: Model) -> Head | None:
    """The head of a model with one head, a plain mask and nothing else; None otherwise."""
    if isinstance(model, Transformer) and isinstance(model.mask, (Causal, Full)):
        return model.heads[0] if model.plain and len(model.heads[0].Q) == model.d else None
    return None


def plain_head(problem: Problem) -> Head | None:
    """The head of a plain model, if tokens have no lengths and no noise; None otherwise."""
    return None if problem.radii or problem.noisy else kernel_head(problem.model)


def field_obstacle(model: Model, frozen: Array) -> str:
    """Why the kernels for transformers do not cover a model; empty if they do."""
    if not isinstance(model, Transformer):
        return "it is not a pk.Transformer"
    if not isinstance(model.mask, (Causal, Full, Window, Prefix)):
        return f"the mask {model.mask} has none"
    if model.attention != "softmax":
        return f"{model.attention} attention has none"
    if model.norm.name not in NORMS:
        return f"the normalisation {model.norm} has none"
    if any(head.biased for head in model.heads):
        return "heads with biases have none"
    if model.parts:
        return f"the part {model.parts[0].label} has none"
    return "frozen tokens have none" if len(frozen) else ""


def prepare_field(model: Transformer, frame: Frame, start: float = 0.0) -> Field:
    """Prepare a transformer for the kernels, in a frame, for a run that begins at `start`.

    Value matrices are factorised, V = O W with few rows of W if the rank is low.
    """
    d, W = model.d, frame.basis
    heads = [(h.beta * h.Q @ W, h.K @ W, *_factors(W.T @ h.V @ W)) for h in model.heads]
    m = max((len(head[0]) for head in heads), default=1)
    r = max((len(head[3]) for head in heads), default=1)
    queries, keys = np.zeros((2, len(heads), m, d))
    values, outputs = np.zeros((len(heads), r, d)), np.zeros((d, len(heads), r))
    for i, (Q, K, left, right) in enumerate(heads):
        queries[i, : len(Q)], keys[i, : len(K)] = LOG2E * Q, K
        values[i, : len(right)], outputs[:, i, : len(right)] = right, left
    position, mask, mlp = model.position, model.mask, model.mlp
    inner = np.zeros((0, d)) if mlp is None else mlp.W1 @ W
    outer = np.zeros((d, 0)) if mlp is None else W.T @ mlp.W2
    alpha = model.norm.alpha if isinstance(model.norm, NGPT) else 1.0
    sharp = max((h.beta * float(np.linalg.norm(h.product)) for h in model.heads), default=0.0)
    precise = frame.attracts and mlp is None
    return Field(
        queries=np.ascontiguousarray(queries.reshape(-1, d)),
        keys=np.ascontiguousarray(keys.reshape(-1, d)),
        reach=np.array([np.linalg.norm(head.K, 2) for head in model.heads]),
        values=np.ascontiguousarray(values.reshape(-1, d)),
        outputs=np.ascontiguousarray(outputs.reshape(d, -1)),
        own_value=np.ascontiguousarray(frame.B),
        leading=frame.leading,
        slopes=LOG2E * (np.zeros(len(heads)) if position is None else position.slopes(len(heads))),
        turns=_turns(model),
        inner=np.ascontiguousarray(inner),
        inner_bias=np.zeros(0) if mlp is None else np.array(mlp.b1),
        outer=np.ascontiguousarray(outer),
        outer_bias=np.zeros(d) if mlp is None else W.T @ mlp.b2,
        activation=0 if mlp is None else ACTIVATIONS.index(mlp.activation),
        norm=NORMS[model.norm.name],
        alpha=alpha,
        window=mask.number if isinstance(mask, Window) else EVERYTHING,
        prefix=EVERYTHING if mask == "full" else mask.number if isinstance(mask, Prefix) else 0,
        causal=model.triangular,
        origin=start,
        now=np.array([start]),
        query=np.array([[LOG2E * sharp]]),
        value=np.array([[model.rate]]),
        accuracy=0.0,
        floor=0.0 if precise else EPSILON * (4.0 + 0.5 * sharp),
        stretch=LONGEST_STRETCH if frame.drifts else np.inf,
        table=None,
        followers=np.zeros((0, 0, 0)),
    )


def _turns(model: Transformer) -> Array:
    """Rotation angles per position for each head, (heads, p), with zeros for heads of low rank."""
    if model.position is None:
        return np.zeros((len(model.heads), 0))
    frequencies = [model.position.frequencies(len(head.Q)) for head in model.heads]
    turns = np.zeros((len(model.heads), max(map(len, frequencies), default=0)))
    for row, angles in zip(turns, frequencies, strict=True):
        row[: len(angles)] = angles
    return turns


def _factors(V: Array) -> tuple[Array, Array]:
    """Factors of V = O W: W has as many rows as V has rank, or is I if that saves little."""
    d = len(V)
    left, sizes, right = np.linalg.svd(V)
    rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum())
    if 2 * rank > d:
        return V, np.eye(d)
    return left[:, :rank] * sizes[:rank], right[:rank]


def prepare(
    model: Model,
    frozen: Array | None = None,
    weights: Array | None = None,
    frame: Frame | None = None,
    table: Array | None = None,
    accuracy: float = 0.0,
    lengths: Array | None = None,
) -> System:
    """Prepare `model`, with optional frozen tokens, for the kernels, in a `frame`.

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
        stretch=LONGEST_STRETCH if frame.drifts else np.inf,
        leaders=np.zeros(0, dtype=np.int64),
        followers=np.zeros((0, 0)),
    )


def _rounding(A: Array) -> float:
    """The rounding error of a force relative to its terms; the tests measure half of this.

    A score has size β|KᵀQ|. Its rounding error is ε times that, and becomes the relative error
    of a weight. But if β is huge, most tokens attend to a single one, whose weight is exact.
    """
    return min(EPSILON * (4.0 + 0.5 * float(np.linalg.norm(A, 2)) / LOG2E), MOST_ROUNDING)
