"""A transformer in its frame, ready for the engine, as by `prepare_field` of `solve`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numerics.matrices import commute, inside, multiply
from numerics.svd import largest_value, length_of_column, orthogonalize
from runs.framing import RunFrame, frame_of
from runs.parts import ModelParts
from slots import floats

from parkade.base.constants import EPSILON
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.field.field import NGPT, PERI, PRE, SQRT
from parkade.engine.system import LOG2E
from parkade.engine.vectors import frobenius
from parkade.explorer.settings.limits import STABLE_STEP
from parkade.explorer.standalone.shared import NORM_NUMBERS
from parkade.solve.lowering.lower import LONGEST_STRETCH, RANK_TOLERANCE

MIX = NORM_NUMBERS["mix"]


class TransformerTraits(NamedTuple):
    """Properties of a model that planning needs; see `Transformer`."""

    V: Array  # (d, d): the sum over all heads
    products: Array  # (H, d, d): KᵀQ of each
    reach: Array  # (H,): ‖K‖
    rate: float
    sharpness: float
    size: float  # the sharpness by Frobenius norms


class LoweredArrays(NamedTuple):
    """The arrays of a `Field` that depend on the frame."""

    queries: Array
    keys: Array
    values: Array
    outputs: Array
    inner: Array
    outer: Array
    query: Array
    value: Array


@njit(allocates=True)
def _norm(matrix: Array) -> float:
    """The largest singular value."""
    copy, room = np.empty(matrix.shape), np.empty((matrix.shape[1], matrix.shape[1]))
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            copy[i, j] = matrix[i, j]
    return largest_value(copy, room)


@njit(allocates=True)
def traits_of(parts: ModelParts, beta: float) -> TransformerTraits:
    """The traits of a transformer, for planning."""
    heads, d = parts.Q.shape[0], parts.V.shape[0]
    V, products, reach = floats((d, d)), floats((heads, d, d)), floats((heads,))
    rate, sharpness, size, each = 0.0, 0.0, 0.0, _norm(parts.V)
    for h in range(heads):
        multiply(parts.K[h].T, parts.Q[h], products[h])
        reach[h] = _norm(parts.K[h])
        rate += each
        sharpness = max(sharpness, beta * _norm(products[h]))
        size = max(size, beta * frobenius(products[h]))
        for r in range(d):
            for c in range(d):
                V[r, c] += parts.V[r, c]
    if parts.W1.shape[0] > 0:
        rate += _norm(parts.W2.T) * _norm(parts.W1)
    return TransformerTraits(V, products, reach, rate, sharpness, size)


@njit(allocates=True)
def transformer_frame(traits: TransformerTraits, long: bool, may_turn: bool) -> RunFrame:
    """The frame of a transformer: a rotating one must leave all heads unchanged."""
    frame = frame_of(traits.V, traits.products[0], long, may_turn)
    if not long or not may_turn:
        return frame
    d = traits.V.shape[0]
    spin, other = np.empty((d, d)), np.empty((d, d))
    inside(frame.spin, frame.basis, spin)
    alike = True
    for h in range(1, traits.products.shape[0]):
        inside(traits.products[h], frame.basis, other)
        alike = alike and commute(spin, other)
    return frame if alike else frame_of(traits.V, traits.products[0], True, False)


@njit(allocates=True)
def arrays_of(
    parts: ModelParts, traits: TransformerTraits, beta: float, frame: RunFrame
) -> LoweredArrays:
    """The arrays of a transformer in a frame."""
    heads, m, d = parts.Q.shape
    p, W = parts.W1.shape[0], frame.basis
    V, left, right = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    inside(parts.V, W, V)
    r = _factors(V, left, right)
    lowered = LoweredArrays(
        floats((heads * m, d)),
        floats((heads * m, d)),
        floats((heads * r, d)),
        floats((d, heads * r)),
        floats((p, d)),
        floats((d, p)),
        floats((1, 1)),
        floats((1, 1)),
    )
    scaled, place = np.empty((m, d)), np.empty((m, d))
    for h in range(heads):
        for i in range(m):
            for c in range(d):
                scaled[i, c] = beta * parts.Q[h, i, c]
        multiply(scaled, W, place)
        for i in range(m):
            for c in range(d):
                lowered.queries[h * m + i, c] = LOG2E * place[i, c]
        multiply(parts.K[h], W, lowered.keys[h * m : (h + 1) * m])
        for i in range(r):
            for c in range(d):
                lowered.values[h * r + i, c] = right[i, c]
                lowered.outputs[c, h * r + i] = left[c, i]
    multiply(parts.W1, W, lowered.inner)
    multiply(W.T, parts.W2, lowered.outer)
    lowered.query[0, 0], lowered.value[0, 0] = LOG2E * traits.size, traits.rate
    return lowered


@njit(allocates=True)
def _factors(V: Array, left: Array, right: Array) -> int:
    """Factor V = left · right as in `lower`; return the number of columns and rows in use."""
    d = V.shape[0]
    for r in range(d):
        for c in range(d):
            left[r, c], right[r, c] = V[r, c], 1.0 if r == c else 0.0
    columns, turned = np.empty((d, d)), np.empty((d, d))
    for r in range(d):
        for c in range(d):
            columns[r, c] = V[r, c]
    orthogonalize(columns, turned)
    largest = 0.0
    for c in range(d):
        largest = max(largest, length_of_column(columns, c))
    rank = 0
    for c in range(d):
        rank += 1 if length_of_column(columns, c) > RANK_TOLERANCE * largest else 0
    if 2 * rank > d:
        return d
    i = 0
    for c in range(d):
        if length_of_column(columns, c) > RANK_TOLERANCE * largest:
            for r in range(d):
                left[r, i], right[i, r] = columns[r, c], turned[r, c]
            i += 1
    return rank


@njit()
def floor_of(traits: TransformerTraits, frame: RunFrame, has_mlp: bool) -> float:
    """The force, relative to its terms, below which it counts as rounding."""
    precise = frame.attracts and not has_mlp
    return 0.0 if precise else EPSILON * (4.0 + 0.5 * traits.size)


@njit()
def stretch_of(frame: RunFrame) -> float:
    """The longest step as a multiple of t."""
    return LONGEST_STRETCH if frame.drifts else np.inf


@njit()
def steps_for(norm: int, rate: float, t: float, until: float) -> float:
    """The least number of explicit steps, as in `explorer.settings.limits`.

    If there are two norms, the second one begins at `until`.
    """
    relaxations = rate * t
    if norm == PRE:
        relaxations = np.log1p(rate * t)
    elif norm == PERI:
        relaxations = np.log1p(t)
    elif norm == MIX:
        first = min(t, until)
        relaxations = rate * first + np.log1p(rate * (t - first))
    elif norm == SQRT:
        relaxations = 2 * rate * (np.sqrt(t + 1) - 1)
    elif norm == NGPT:
        relaxations = t
    return relaxations / STABLE_STEP
