"""Layers of trained transformers as parkade models of unit tokens.

A norm turns a token x = rθ into √d·(gain·θ) + bias. So the gain and √d belong to the matrices that
come next, and the bias to theirs:

    W(√d gain·θ + bias) + b = (√d W diag(gain)) θ + (W bias + b).

A LayerNorm also subtracts the mean of the entries. No one sees the mean, so it is taken out of all
outputs, and θ is the direction of x − mean(x): see `directions`.

Layers with norms of queries and keys, or of forces, are no such models.

With pre-norm a layer is x ← x + F(θ). With post-norm it is N(√d(gain·θ) + bias + F), and N does
not see a factor, so θ ← N(θ + G) with √d G = √d(gain − 1)·θ + bias + F.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.part import Part
from parkade.model.parts.head import Head
from parkade.model.parts.mask import Mask, Window
from parkade.model.parts.mlp import ACTIVATIONS, MLP
from parkade.model.sphere import normalize
from parkade.model.transformer import Transformer
from parkade.trained.block import AttentionWeights, Floats, MLPWeights, NormWeights
from parkade.trained.parts import Constant, Gain, Network, Turns

if TYPE_CHECKING:
    from parkade.trained.model import Trained


def directions(model: Trained, states: Floats) -> Array:
    """The unit vectors that the norm of a model makes of states, before its gain."""
    x = np.asarray(states, dtype=np.float64)
    return normalize(x - x.mean(axis=-1, keepdims=True) if centred(model) else x)


def layer(model: Trained, number: int, attention: bool, mlp: bool) -> Transformer:
    """A layer, with its own norm: forces of the attention, of the MLP, or both."""
    if not attention and not mlp:
        raise InputError("a layer needs attention=True, mlp=True, or both")
    d, block, post = model.d, model.block(number), model.shape.order == "post"
    if block.before is not None:
        raise InputError(f"{model.name} changes tokens before layer {number}, which no flow does")
    scale = 1.0 if post else math.sqrt(d)
    heads: list[Head] = []
    others: list[Part] = []
    constant = np.zeros(d)
    if attention and block.attention is not None:
        heads, shift = _heads(model, number, block.attention, scale)
        constant += shift if not post else shift / math.sqrt(d)
    if mlp and block.mlp is not None:
        others.append(_network(model, block.mlp, norm_before(model, number, "mlp"), scale))
    if post:
        for wanted, name in ((attention, "attention"), (mlp, "mlp")):
            norm = norm_before(model, number, name)
            if wanted:
                others.append(Gain(norm.gain.astype(np.float64)))
                constant += _free(_bias(norm), norm) / math.sqrt(d)
    if constant.any():
        others.append(Constant(constant))
    return _transformer(model, number, heads, others, "post" if post else "pre")


def tied(model: Trained, number: int, mlp: bool) -> Transformer:
    """A layer as a flow on the sphere: the paper's, with the heads of the layer.

    The values are V_h = W_O W_V diag(gain), without a factor √d, so that rates are eigenvalues of
    their sum. Biases are left out unless there is an MLP, which has its own.
    """
    block = model.block(number)
    if block.attention is None:
        raise InputError(f"{model.name} has no attention to repeat")
    heads, _ = _heads(model, number, block.attention, 1.0, biases=False)
    others: list[Part] = []
    if mlp and block.mlp is not None:
        others.append(_network(model, block.mlp, norm_before(model, number, "mlp"), 1.0))
    return _transformer(model, number, heads, others, "post")


def sum_of_values(model: Trained, number: int) -> Array:
    """Σ_h W_O^h W_V^h diag(gain), (d, d)."""
    part = model.block(number).attention
    if part is None:
        return np.zeros((model.d, model.d))
    norm = norm_before(model, number, "attention")
    shared = _folded(part.v, norm).reshape(model.shape.kv_heads, model.shape.d_head, model.d)
    values = np.repeat(shared, model.shape.heads // model.shape.kv_heads, axis=0)
    total: Array = _free(part.o.astype(np.float64).T, norm).T @ values.reshape(-1, model.d)
    return total


def norm_before(model: Trained, number: int, part: str) -> NormWeights:
    """The norm whose output a part of a layer sees."""
    first, second = _norms(model, number)
    if model.shape.order != "post":
        return first if part == "attention" else second
    if part == "mlp":
        return first
    if number:
        return _norms(model, number - 1)[1]
    # ALBERT enlarges embeddings after their norm; its layers repeat, so see their own.
    entry = model.ends.entry
    return second if entry is None or model.ends.enlarge is not None else entry


def _norms(model: Trained, number: int) -> tuple[NormWeights, NormWeights]:
    """The norms of the attention and of the MLP of a layer, if there are no others."""
    block = model.block(number)
    if block.norms is None or block.after is not None:
        raise _foreign(model, "norms after its attention and its MLP")
    return block.norms


def _foreign(model: Trained, what: str) -> InputError:
    return InputError(
        f"{model.name} has {what}, which heads and layers of parkade do not have; its tokens, "
        "attention and logits can be read with read"
    )


def centred(model: Trained) -> bool:
    """Whether norms subtract the mean."""
    block = model.block(0)
    norms = block.norms or block.after
    assert norms is not None
    return norms[0].centred


def head_matrices(model: Trained, number: int) -> tuple[Array, Array, Array, Array]:
    """Q, K, V and O of all heads of a layer, with the gain: (h, m, d) three times, (h, d, m)."""
    shape, part = model.shape, model.block(number).attention
    if part is None:
        raise InputError(f"{model.name} has no heads")
    norm, m = norm_before(model, number, "attention"), shape.d_head
    if part.norms is not None or part.cap:
        raise _foreign(model, "norms of queries and keys" if part.norms else "caps of scores")
    share = shape.heads // shape.kv_heads
    q = _folded(part.q, norm).reshape(shape.heads, m, shape.d)
    k = _folded(part.k, norm).reshape(shape.kv_heads, m, shape.d)
    v = _folded(part.v, norm).reshape(shape.kv_heads, m, shape.d)
    o = _free(part.o.astype(np.float64).T, norm).reshape(shape.heads, m, shape.d)
    return q, np.repeat(k, share, 0), np.repeat(v, share, 0), o.transpose(0, 2, 1)


def _heads(
    model: Trained, number: int, part: AttentionWeights, scale: float, biases: bool = True
) -> tuple[list[Head], Array]:
    """The heads, with values times `scale`, and the constant force of their biases."""
    shape, norm = model.shape, norm_before(model, number, "attention")
    m, share = shape.d_head, shape.heads // shape.kv_heads
    q0 = _shift(part.q, part.bq, norm).reshape(shape.heads, m)
    k0 = _shift(part.k, part.bk, norm).reshape(shape.kv_heads, m)
    v0 = _shift(part.v, part.bv, norm).reshape(shape.kv_heads, m)
    if not len(part.turns):
        k0 = np.zeros_like(k0)
    heads: list[Head] = []
    constant = np.zeros(shape.d) if part.bo is None else _free(part.bo.astype(np.float64), norm)
    for h, (Q, K, V, out) in enumerate(zip(*head_matrices(model, number), strict=True)):
        beta = effective_beta(Q, K, shape.d)
        # Scores are ⟨√d Qθ + q, √d Kθ + k⟩/√m; β is outside, where Q and K are like I.
        unit = math.sqrt(beta * math.sqrt(m))
        both = math.sqrt(shape.d) / unit
        g = h // share
        shifts = {"bq": q0[h] / unit, "bk": k0[g] / unit} if biases else {}
        heads.append(Head(both * Q, both * K, scale * out @ V, beta, **shifts))
        constant = constant + out @ v0[g]
    return heads, constant


def effective_beta(Q: Array, K: Array, d: int) -> float:
    """√d‖sym B‖ with B = QᵀK/√m: the β of heads with Q and K like the identity."""
    cross, m = K @ Q.T, len(Q)
    square = float(np.sum((Q @ Q.T) * (K @ K.T)))
    symmetric = max((square + float(np.sum(cross * cross.T))) / 2, 1e-12 * square)
    return math.sqrt(d * symmetric / m) or 1.0


def _network(model: Trained, part: MLPWeights, norm: NormWeights, scale: float) -> Part:
    """The MLP; `scale` is √d for pre-norm, and forces are divided by √d for others."""
    root = math.sqrt(model.d)
    W1, b1 = root * _folded(part.up, norm), _shift(part.up, part.b_up, norm)
    W2 = _free(part.down.astype(np.float64).T, norm).T * (scale / root)
    b2 = np.zeros(model.d) if part.b_down is None else part.b_down.astype(np.float64)
    b2 = _free(b2, norm) * (scale / root)
    name = model.shape.activation
    if part.gate is None and name in ACTIVATIONS:
        return MLP(W1, W2, b1, b2, name)
    gate = None if part.gate is None else root * _folded(part.gate, norm)
    if part.gate is not None and norm.bias is not None:
        raise InputError("a gate after a norm with a bias is unknown")
    if part.b_gate is not None:
        raise _foreign(model, "gates with biases")
    return Network(W1, W2, b1, b2, name, gate)


def _transformer(
    model: Trained, number: int, heads: list[Head], others: list[Part], norm: str
) -> Transformer:
    mlps = [part for part in others if isinstance(part, MLP)]
    part = model.block(number).attention if heads else None
    mask: str | Mask = "causal" if model.causal else "full"
    if part is not None and part.window:
        mask = Window(part.window)
    # Heads with biases have no kernel; as parts, their forces are added after that of the MLP.
    parts: list[Part] = [head for head in heads if head.biased]
    return Transformer(
        [head for head in heads if not head.biased],
        mlp=mlps[0] if mlps else None,
        norm=norm,
        mask=mask,
        position=Turns(part.turns) if part is not None and len(part.turns) else None,
        parts=parts + [part for part in others if not isinstance(part, MLP)],
        d=model.d,
    )


def _folded(matrix: Floats, norm: NormWeights) -> Array:
    """W diag(gain), restricted to mean-free tokens."""
    return _free(matrix.astype(np.float64) * norm.gain, norm)


def _free(rows: Array, norm: NormWeights) -> Array:
    """Rows without their mean, if the norm subtracts it."""
    return rows - rows.mean(axis=-1, keepdims=True) if norm.centred else rows


def _bias(norm: NormWeights) -> Array:
    return np.zeros(len(norm.gain)) if norm.bias is None else norm.bias.astype(np.float64)


def _shift(matrix: Floats, bias: Floats | None, norm: NormWeights) -> Array:
    """W bias + b: what a matrix adds to √d W diag(gain) θ."""
    moved: Array = matrix.astype(np.float64) @ _bias(norm)
    return moved if bias is None else moved + bias
