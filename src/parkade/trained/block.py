"""The canonical form of a trained transformer: what every architecture is turned into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array

Floats: TypeAlias = NDArray[np.floating[Any]]
"""An array of float32 or float64."""

Order: TypeAlias = Literal["pre", "post", "parallel"]
Activation: TypeAlias = Literal["gelu", "gelu_tanh", "silu", "relu"]


@dataclass(frozen=True, eq=False)
class Shape:
    """The sizes and choices of a transformer.

    Attributes
    ----------
    family : str
        The name of its architecture.
    d, layers, heads, kv_heads, d_head, width, vocabulary : int
        Sizes; heads h·(heads/kv_heads), … share the keys and values number h.
    order : str
        "pre": x ← x + F(N x), twice; "parallel": once, with the sum of both forces;
        "post": x ← N(x + F(x)), twice.
    activation : str
        The activation of the MLP.
    causal : bool
        Whether tokens see only earlier ones.
    longest : int
        The largest number of tokens.
    distinct : int
        The number of different layers; layer l has the weights of l·distinct // layers.
    """

    family: str
    d: int
    layers: int
    heads: int
    kv_heads: int
    d_head: int
    width: int
    vocabulary: int
    order: Order
    activation: Activation
    causal: bool
    longest: int
    distinct: int = 0

    def weights_of(self, layer: int) -> int:
        """The number of the weights that a layer has."""
        return layer * (self.distinct or self.layers) // self.layers


@dataclass(frozen=True, eq=False)
class NormWeights:
    """gain·y/√(mean(y²) + eps) + bias, where y = x, or x − mean(x) if `centred`."""

    gain: Floats
    bias: Floats | None
    eps: float
    centred: bool

    def __call__(self, x: Floats) -> Floats:
        """The tokens x, (..., d), normalised."""
        y: Floats = x - x.mean(axis=-1, keepdims=True) if self.centred else x
        square = np.einsum("...i,...i->...", y, y)[..., None] / y.shape[-1]
        y = y * (1 / np.sqrt(square + x.dtype.type(self.eps)))
        y *= self.gain
        if self.bias is not None:
            y += self.bias
        return y


@dataclass(frozen=True, eq=False)
class AttentionWeights:
    """All heads of a layer.

    Attributes
    ----------
    q, k, v, o : arrays
        Matrices, (out, in).
    bq, bk, bv, bo : arrays or None
        Biases; None where there are none.
    turns : (p,) array
        RoPE: angles per place of the planes (0, 1), (2, 3), … of queries and keys; empty without.
    window : int
        Tokens see this many, themselves and earlier ones; 0 if they see all.
    norms : pair of NormWeights or None
        Applied to queries and keys before RoPE: to each head, or to all at once, as the size says.
    cap : float
        Scores s become cap·tanh(s/cap); 0 if they stay as they are.
    """

    q: Floats
    k: Floats
    v: Floats
    o: Floats
    bq: Floats | None = None
    bk: Floats | None = None
    bv: Floats | None = None
    bo: Floats | None = None
    turns: Array = field(default_factory=lambda: np.empty(0))
    window: int = 0
    norms: tuple[NormWeights, NormWeights] | None = None
    cap: float = 0.0


@dataclass(frozen=True, eq=False)
class MLPWeights:
    """The MLP of a layer.

    down(σ(up x + b_up)) + b_down, or with a gate down(σ(gate x + b_gate)·(up x + b_up)) + b_down.
    """

    up: Floats
    down: Floats
    gate: Floats | None = None
    b_up: Floats | None = None
    b_down: Floats | None = None
    b_gate: Floats | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """One layer.

    Attributes
    ----------
    attention : AttentionWeights or None
    mlp : MLPWeights or None
    norms : pair of NormWeights or None
        Those of the attention and of the MLP: of what goes in or, with the order "post", of the
        sums. Olmo 2 has none.
    after : pair of NormWeights or None
        Norms of the forces of the attention and of the MLP, as Gemma 2 and Olmo 2 have them.
    before : (d, d) array or None
        Applied to tokens first: changed models have one.
    """

    attention: AttentionWeights | None
    mlp: MLPWeights | None
    norms: tuple[NormWeights, NormWeights] | None
    after: tuple[NormWeights, NormWeights] | None = None
    before: Floats | None = None


@dataclass(frozen=True, eq=False)
class Ends:
    """What comes before the first layer and after the last.

    Attributes
    ----------
    embedding : (vocabulary, e) array
    scale : float
        A factor of embeddings, not of the `unembed` that equals them.
    positions : (longest, e) array or None
        Added to embeddings.
    padding : int or None
        RoBERTa's: tokens of this id have no place. They get the row of positions with this number,
        and the others the rows that follow it.
    constant : (e,) array or None
        Added to all embeddings: the first of BERT's token types.
    entry : NormWeights or None
        Applied to embeddings.
    enlarge : ((d, e) array, (d,) array) or None
        A linear map from embeddings to tokens, where e < d.
    exit : NormWeights or None
        Applied after the last layer.
    head : Readout or None
        The map from tokens to logits.
    """

    embedding: Floats
    scale: float = 1.0
    positions: Floats | None = None
    padding: int | None = None
    constant: Floats | None = None
    entry: NormWeights | None = None
    enlarge: tuple[Floats, Floats] | None = None
    exit: NormWeights | None = None
    head: Readout | None = None


@dataclass(frozen=True, eq=False)
class Readout:
    """Logits: unembed · N(σ(W x + b)) + bias, or without the part in between.

    With a cap, logits s become cap·tanh(s/cap).
    """

    unembed: Floats
    bias: Floats | None = None
    dense: tuple[Floats, Floats] | None = None
    activation: Activation = "gelu"
    norm: NormWeights | None = None
    cap: float = 0.0
