"""The forward pass, for all architectures: matrix products in NumPy, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained.block import (
    AttentionWeights,
    Block,
    Ends,
    Floats,
    MLPWeights,
    NormWeights,
    Shape,
)

TILE = 2**22
"""The largest number of scores that are held at a time."""


_SMALL = 2**25  # multiplications

_QUIET = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Readers check that results are finite, and say so in a sentence."""


def cores(shape: Shape, n: int) -> AbstractContextManager[None]:
    """A context in which small products of n tokens use one core: threads only slow them down."""
    small = n * shape.d * shape.width < _SMALL
    return single_threaded_blas() if small else nullcontext()


@_QUIET
def embed(ends: Ends, ids: NDArray[np.int64]) -> Floats:
    """The tokens before the first layer, (n, d)."""
    x: Floats = ends.embedding[ids]
    if ends.scale != 1.0:
        x = x * x.dtype.type(ends.scale)
    for extra in (
        ends.constant,
        None if ends.positions is None else ends.positions[_places(ends, ids)],
    ):
        if extra is not None:
            x = x + extra
    if ends.entry is not None:
        x = ends.entry(x)
    return x if ends.enlarge is None else x @ ends.enlarge[0].T + ends.enlarge[1]


def _places(ends: Ends, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of positions of tokens."""
    if ends.padding is None:
        return np.arange(len(ids))
    real = ids != ends.padding
    places: NDArray[np.int64] = ends.padding + np.cumsum(real) * real
    return places


@_QUIET
def layer(block: Block, shape: Shape, x: Floats) -> tuple[Floats, Floats]:
    """The tokens after the attention of a layer, and after the layer."""
    x = entering(block, x)
    first, second = block.norms or (None, None)
    late, last = block.after or (None, None)
    if shape.order == "post":
        assert first is not None
        assert second is not None
        middle = first(_plus(x, _attend(block.attention, shape, x)))
        return middle, second(_plus(middle, _network(block.mlp, shape, middle)))
    middle = _plus(x, _attend(block.attention, shape, _normed(first, x)), late)
    if block.mlp is None:
        return middle, middle
    seen = x if shape.order == "parallel" else middle
    return middle, _plus(middle, _network(block.mlp, shape, _normed(second, seen)), last)


def entering(block: Block, x: Floats) -> Floats:
    """The tokens that a layer sees: those before it, changed if the model was."""
    return x if block.before is None else x @ block.before.T


def _normed(norm: NormWeights | None, x: Floats) -> Floats:
    return x if norm is None else norm(x)


def _plus(x: Floats, force: Floats | None, norm: NormWeights | None = None) -> Floats:
    if force is None:
        return x
    force = _normed(norm, force)
    force += x  # it is ours
    return force


def _attend(part: AttentionWeights | None, shape: Shape, x: Floats) -> Floats | None:
    """The force of all heads on tokens x."""
    if part is None:
        return None
    mixed = np.empty((len(x), shape.heads * shape.d_head), x.dtype)
    v = _split(linear(x, part.v, part.bv), shape.kv_heads)
    for rows, keys, p in weights(part, shape, x):
        grouped = p.reshape(shape.kv_heads, -1, p.shape[-1])  # heads that share values
        out = (grouped @ v[:, keys]).reshape(shape.heads, -1, shape.d_head)
        mixed[rows] = out.transpose(1, 0, 2).reshape(-1, shape.heads * shape.d_head)
    return linear(mixed, part.o, part.bo)


def weights(
    part: AttentionWeights, shape: Shape, x: Floats
) -> Iterator[tuple[slice, slice, Floats]]:
    """The weights of all heads, (heads, rows, keys), for some rows at a time.

    Keys are from the first to the last that any of the rows sees.
    """
    n = len(x)
    first, second = part.norms or (None, None)
    q = _heads(linear(x, part.q, part.bq), shape.heads, first, part.turns)
    k = _heads(linear(x, part.k, part.bk), shape.kv_heads, second, part.turns)
    q *= x.dtype.type(1 / math.sqrt(shape.d_head))
    rows = max(1, min(n, TILE // (shape.heads * n), 256 if shape.causal else n))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        keys = slice(_earliest(part, start), stop if shape.causal else n)
        asking = np.ascontiguousarray(q[:, start:stop]).reshape(shape.kv_heads, -1, shape.d_head)
        scores = asking @ k[:, keys].transpose(0, 2, 1)
        p = scores.reshape(shape.heads, stop - start, -1)
        if part.cap:
            _capped(p, part.cap)
        if shape.causal:
            hidden = ~np.tri(stop - start, dtype=bool)
            p[:, :, start - keys.start :][:, hidden] = -np.inf
        if part.window and keys.start < stop - part.window:
            place = np.arange(keys.start, keys.stop)
            p[:, place <= np.arange(start, stop)[:, None] - part.window] = -np.inf
        p -= p.max(axis=-1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=-1, keepdims=True)
        yield slice(start, stop), keys, p


def _earliest(part: AttentionWeights, row: int) -> int:
    """The first token that a token sees."""
    return max(0, row - part.window + 1) if part.window else 0


def _capped(scores: Floats, cap: float) -> None:
    scores *= scores.dtype.type(1 / cap)
    np.tanh(scores, out=scores)
    scores *= scores.dtype.type(cap)


@_QUIET
def attention_matrix(part: AttentionWeights, shape: Shape, x: Floats) -> Floats:
    """The weights of all heads, (heads, n, n), for tokens after their norm."""
    full = np.zeros((shape.heads, len(x), len(x)), x.dtype)
    for rows, keys, p in weights(part, shape, x):
        full[:, rows, keys] = p
    return full


@_QUIET
def logits(ends: Ends, x: Floats) -> Floats:
    """The logits of tokens after the last layer, (n, vocabulary)."""
    if ends.exit is not None:
        x = ends.exit(x)
    head = ends.head
    assert head is not None
    if head.dense is not None:
        x = ACTIVATIONS[head.activation](linear(x, *head.dense))
    if head.norm is not None:
        x = head.norm(x)
    scores = linear(x, head.unembed, head.bias)
    if head.cap:
        _capped(scores, head.cap)
    return scores


def linear(x: Floats, matrix: Floats, bias: Floats | None = None) -> Floats:
    """Matrix · x + bias, for each row x."""
    y: Floats = x @ matrix.T
    if bias is not None:
        y += bias
    return y


def _network(part: MLPWeights | None, shape: Shape, x: Floats) -> Floats | None:
    if part is None:
        return None
    hidden, activate = linear(x, part.up, part.b_up), ACTIVATIONS[shape.activation]
    if part.gate is None:
        hidden = activate(hidden)
    else:
        hidden *= activate(linear(x, part.gate, part.b_gate))
    return linear(hidden, part.down, part.b_down)


def _split(rows: Floats, heads: int) -> Floats:
    """Rows (n, heads·m) as (heads, n, m)."""
    return np.ascontiguousarray(rows.reshape(len(rows), heads, -1).transpose(1, 0, 2))


def _heads(rows: Floats, heads: int, norm: NormWeights | None, turns: Array) -> Floats:
    """Queries or keys (n, heads·m) as (heads, n, m), after their norm, turned by RoPE."""
    whole = norm is not None and len(norm.gain) == rows.shape[1]
    split = _split(_normed(norm, rows) if whole else rows, heads)
    return _turned(split if whole else _normed(norm, split), turns)


def _turned(rows: Floats, turns: Array) -> Floats:
    """Queries or keys, (heads, n, m), turned by RoPE."""
    p = len(turns)
    if not p:
        return rows
    angles = np.arange(rows.shape[1])[:, None] * turns
    cos, sin = np.cos(angles).astype(rows.dtype), np.sin(angles).astype(rows.dtype)
    even, odd = rows[..., 0 : 2 * p : 2], rows[..., 1 : 2 * p : 2]
    turned = rows.copy()
    turned[..., 0 : 2 * p : 2] = even * cos - odd * sin
    turned[..., 1 : 2 * p : 2] = even * sin + odd * cos
    return turned


def _gelu(x: Floats) -> Floats:
    from scipy.special import ndtr

    half: Floats = ndtr(x)
    half *= x
    return half


def _gelu_tanh(x: Floats) -> Floats:
    inner = x * x
    inner *= 0.044715
    inner += 1
    inner *= x
    inner *= math.sqrt(2 / math.pi)
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= 0.5
    return inner


def _silu(x: Floats) -> Floats:
    half: Floats = np.tanh(x * x.dtype.type(0.5))  # does not overflow
    half += 1
    half *= x
    half *= 0.5
    return half


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": _silu,
    "relu": lambda x: np.maximum(x, 0),
}
"""Functions of each entry, which may overwrite it."""
