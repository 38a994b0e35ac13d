"""Layers of Llama and its relatives: RMSNorm, RoPE, grouped keys and values, a gated MLP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.block import (
    AttentionWeights,
    Block,
    Ends,
    Floats,
    MLPWeights,
    NormWeights,
    Shape,
)
from parkade.trained.families.common import rope
from parkade.trained.families.common.rope import Rotation
from parkade.trained.families.common.settings import ModelSettings, divided
from parkade.trained.families.common.take import Take, readout

_KINDS = ("full_attention", "sliding_attention")


def shape_of(settings: ModelSettings, activation: str = "hidden_act") -> Shape:
    """The sizes of a causal model; `activation` is the name of the setting."""
    d, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    d_head = settings.size("head_dim", 0) or divided("hidden_size", d, heads)
    kv = settings.size("num_key_value_heads", heads)
    divided("num_attention_heads", heads, kv)
    return Shape(
        family=str(settings.value("model_type")),
        d=d,
        layers=settings.size("num_hidden_layers"),
        heads=heads,
        kv_heads=kv,
        d_head=d_head,
        width=settings.size("intermediate_size"),
        vocabulary=settings.size("vocab_size"),
        order="pre",
        activation=settings.activation(activation, "silu"),
        causal=True,
        longest=settings.size("max_position_embeddings", 2048),
    )


def rope_of(settings: ModelSettings, size: int) -> Rotation:
    """The RoPE that all layers have, of heads that turn `size` axes."""
    base = settings.number("rope_theta", 1e4)
    return rope.read(settings, size, rope.extra(settings), base)


def window_of(
    settings: ModelSettings,
    shape: Shape,
    layer: int,
    usual: Callable[[int], bool],
    *,
    switched: bool = False,
) -> int:
    """The window of a layer; 0 if its tokens see all earlier ones.

    The setting layer_types says which layers have one, or else `usual` does. Models with a switch
    have windows only if the setting use_sliding_window is true.
    """
    kinds = settings.each("layer_types", shape.layers)
    size = settings.size("sliding_window", 0)
    if switched and not settings.flag("use_sliding_window", False):
        size = 0
    if kinds is None:
        return size if usual(layer) else 0
    if kinds[layer] not in _KINDS:
        raise InputError(
            f"layers of the kind {check.brief(kinds[layer])} are unknown (the setting "
            f"layer_types); known are {', '.join(_KINDS)}"
        )
    slides = kinds[layer] == _KINDS[1]
    if slides and not size:
        raise InputError(
            f"the setting layer_types of the model says that layer {layer} has a window, but "
            "sliding_window or use_sliding_window says that there is none"
        )
    return size if slides else 0


def attention_of(take: Take, shape: Shape, at: str, biases: str = "") -> AttentionWeights:
    """Attention from `at`q_proj and so on; `biases` has the letters of those with a bias."""
    d, inner, shared = shape.d, shape.heads * shape.d_head, shape.kv_heads * shape.d_head

    def bias(letter: str, size: int) -> Floats | None:
        return take(f"{at}{letter}_proj.bias", size) if letter in biases else None

    return AttentionWeights(
        q=take(f"{at}q_proj.weight", inner, d),
        k=take(f"{at}k_proj.weight", shared, d),
        v=take(f"{at}v_proj.weight", shared, d),
        o=take(f"{at}o_proj.weight", d, inner),
        bq=bias("q", inner),
        bk=bias("k", shared),
        bv=bias("v", shared),
        bo=bias("o", d),
    )


def turned(
    part: AttentionWeights, shape: Shape, by: Rotation, *, scale: float = 1.0, window: int = 0
) -> AttentionWeights:
    """Attention with the axes and angles of RoPE, a window, and queries times `scale`."""

    def rows(values: Floats, by: Rotation = by, scale: float = 1.0) -> Floats:
        arranged = by.rows(values, shape.d_head)
        return arranged if scale == 1.0 else arranged * values.dtype.type(scale)

    norms = part.norms
    if norms is not None:  # factors belong behind the norms: to their gains
        norms = (
            replace(norms[0], gain=rows(norms[0].gain, scale=scale)),
            replace(norms[1], gain=rows(norms[1].gain)),
        )
        by, scale = replace(by, factor=1.0), 1.0
    return replace(
        part,
        q=rows(part.q, by, scale),
        k=rows(part.k, by),
        bq=None if part.bq is None else rows(part.bq, by, scale),
        bk=None if part.bk is None else rows(part.bk, by),
        turns=by.turns,
        window=window,
        norms=norms,
    )


def network_of(take: Take, shape: Shape, at: str, *, biases: bool = False) -> MLPWeights:
    """A gated MLP from `at`up_proj and so on."""
    d, width = shape.d, shape.width
    return MLPWeights(
        up=take(f"{at}up_proj.weight", width, d),
        down=take(f"{at}down_proj.weight", d, width),
        gate=take(f"{at}gate_proj.weight", width, d),
        b_up=take(f"{at}up_proj.bias", width) if biases else None,
        b_down=take(f"{at}down_proj.bias", d) if biases else None,
        b_gate=take(f"{at}gate_proj.bias", width) if biases else None,
    )


def norm_of(
    take: Take, settings: ModelSettings, name: str, size: int, eps: float = 1e-6, more: float = 0.0
) -> NormWeights:
    """An RMSNorm; `eps` is for settings without a rms_norm_eps, `more` is added to the gain."""
    gain = take(f"{name}.weight", size)
    if more:
        gain = gain + gain.dtype.type(more)
    return NormWeights(gain, None, settings.epsilon("rms_norm_eps", eps), centred=False)


def pre_norm(
    take: Take,
    settings: ModelSettings,
    at: str,
    attention: AttentionWeights,
    mlp: MLPWeights,
    eps: float = 1e-6,
) -> Block:
    """A layer with Llama's two norms."""
    d, names = len(attention.o), ("input_layernorm", "post_attention_layernorm")
    first, second = (norm_of(take, settings, f"{at}{name}", d, eps) for name in names)
    return Block(attention, mlp, (first, second))


def ends_of(
    take: Take, settings: ModelSettings, shape: Shape, tied: bool = False, eps: float = 1e-6
) -> Ends:
    """Embeddings, the last norm, and the map to logits, which is `tied` if settings do not say."""
    embedding = take("embed_tokens.weight", shape.vocabulary, shape.d)
    head = readout(take, settings, embedding, ("lm_head.weight",), tied=tied)
    return Ends(embedding, exit=norm_of(take, settings, "norm", shape.d, eps), head=head)
