"""The forward pass, for all architectures: matrix products in NumPy, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray

from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained.block import AttentionWeights, Block, Ends, Floats, MLPWeights, Shape

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
    for extra in (ends.constant, None if ends.positions is None else ends.positions[: len(ids)]):
        if extra is not None:
            x = x + extra
    if ends.entry is not None:
        x = ends.entry(x)
    return x if ends.enlarge is None else x @ ends.enlarge[0].T + ends.enlarge[1]


@_QUIET
def layer(block: Block, shape: Shape, x: Floats) -> tuple[Floats, Floats]:
    """The tokens after the attention of a layer, and after the layer."""
    x = entering(block, x)
    first, second = block.norms
    if shape.order == "post":
        middle = first(_plus(x, _attend(block.attention, shape, x)))
        return middle, second(_plus(middle, _network(block.mlp, shape, middle)))
    middle = _plus(x, _attend(block.attention, shape, first(x)) if block.attention else None)
    if block.mlp is None:
        return middle, middle
    seen = x if shape.order == "parallel" else middle
    return middle, _plus(middle, _network(block.mlp, shape, second(seen)))


def entering(block: Block, x: Floats) -> Floats:
    """The tokens that a layer sees: those before it, changed if the model was."""
    return x if block.before is None else x @ block.before.T


def _plus(x: Floats, force: Floats | None) -> Floats:
    if force is None:
        return x
    force += x  # it is ours
    return force


def _attend(part: AttentionWeights | None, shape: Shape, x: Floats) -> Floats | None:
    """The force of all heads on tokens x."""
    if part is None:
        return None
    mixed = np.empty((len(x), shape.heads * shape.d_head), x.dtype)
    v = _split(linear(x, part.v, part.bv), shape.kv_heads)
    for rows, p in weights(part, shape, x):
        seen = p.shape[-1]
        grouped = p.reshape(shape.kv_heads, -1, seen)  # heads that share values
        out = (grouped @ v[:, :seen]).reshape(shape.heads, -1, shape.d_head)
        mixed[rows] = out.transpose(1, 0, 2).reshape(-1, shape.heads * shape.d_head)
    return linear(mixed, part.o, part.bo)


def weights(part: AttentionWeights, shape: Shape, x: Floats) -> Iterator[tuple[slice, Floats]]:
    """The weights of all heads, (heads, rows, keys), for some rows at a time.

    Keys are the first ones, as far as any of the rows sees.
    """
    n = len(x)
    q = _split(linear(x, part.q, part.bq), shape.heads)
    k = _split(linear(x, part.k, part.bk), shape.kv_heads)
    q, k = _turned(q, shape), _turned(k, shape)
    q *= x.dtype.type(1 / math.sqrt(shape.d_head))
    rows = max(1, min(n, TILE // (shape.heads * n), 256 if shape.causal else n))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        seen = stop if shape.causal else n
        asking = np.ascontiguousarray(q[:, start:stop]).reshape(shape.kv_heads, -1, shape.d_head)
        scores = asking @ k[:, :seen].transpose(0, 2, 1)
        p = scores.reshape(shape.heads, stop - start, seen)
        if shape.causal:
            hidden = ~np.tri(stop - start, stop - start, dtype=bool)
            p[:, :, start:][:, hidden] = -np.inf
        p -= p.max(axis=-1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=-1, keepdims=True)
        yield slice(start, stop), p


@_QUIET
def attention_matrix(part: AttentionWeights, shape: Shape, x: Floats) -> Floats:
    """The weights of all heads, (heads, n, n), for tokens after their norm."""
    full = np.zeros((shape.heads, len(x), len(x)), x.dtype)
    for rows, p in weights(part, shape, x):
        full[:, rows, : p.shape[-1]] = p
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
    return linear(x, head.unembed, head.bias)


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
        hidden *= activate(linear(x, part.gate))
    return linear(hidden, part.down, part.b_down)


def _split(rows: Floats, heads: int) -> Floats:
    """Rows (n, heads·m) as (heads, n, m)."""
    return np.ascontiguousarray(rows.reshape(len(rows), heads, -1).transpose(1, 0, 2))


def _turned(rows: Floats, shape: Shape) -> Floats:
    """Queries or keys, (heads, n, m), turned by RoPE."""
    p = len(shape.turns)
    if not p:
        return rows
    angles = np.arange(rows.shape[1])[:, None] * shape.turns
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
