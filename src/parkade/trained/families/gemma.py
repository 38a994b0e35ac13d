"""Gemma 1, 2 and 3: gains 1 + w, scaled embeddings; norms after each part, windows and caps."""

from __future__ import annotations

import math
from dataclasses import replace

from parkade.trained.block import Block, Ends, NormWeights, Shape
from parkade.trained.families.common import gated, rope
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.rope import Rotation
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take

_FIRST, _SECOND, _THIRD = "gemma", "gemma2", "gemma3_text"


def _shape(settings: ModelSettings) -> Shape:
    if _kind(settings) != _FIRST:
        settings.value("hidden_act")  # has no effect
        return gated.shape_of(settings, "hidden_activation")
    shape = gated.shape_of(settings)
    # The first files said "gelu" and meant the other one.
    return replace(shape, activation="gelu_tanh") if shape.activation == "gelu" else shape


def _kind(settings: ModelSettings) -> str:
    return str(settings.value("model_type"))


def _norm(take: Take, settings: ModelSettings, name: str, size: int) -> NormWeights:
    return gated.norm_of(take, settings, name, size, more=1.0)


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at, kind = f"layers.{layer}.", _kind(settings)

    def norm(name: str, size: int = shape.d) -> NormWeights:
        return _norm(take, settings, f"{at}{name}", size)

    biases = "qkvo" if settings.flag("attention_bias", False) else ""
    attention = gated.attention_of(take, shape, f"{at}self_attn.", biases)
    mlp = gated.network_of(take, shape, f"{at}mlp.")
    if kind == _FIRST:
        attention = gated.turned(attention, shape, _rotation(settings, shape.d_head, False))
        norms = norm("input_layernorm"), norm("post_attention_layernorm")
        return Block(attention, mlp, norms)
    if kind == _SECOND:
        attention = replace(attention, cap=settings.cap("attn_logit_softcapping"))
    else:
        both = norm("self_attn.q_norm", shape.d_head), norm("self_attn.k_norm", shape.d_head)
        attention = replace(attention, norms=both)
    scale = math.sqrt(shape.d_head / settings.number("query_pre_attn_scalar"))
    window = _window(settings, shape, layer)
    rotation = _rotation(settings, shape.d_head, bool(window))
    return Block(
        gated.turned(attention, shape, rotation, scale=scale, window=window),
        mlp,
        norms=(norm("input_layernorm"), norm("pre_feedforward_layernorm")),
        after=(norm("post_attention_layernorm"), norm("post_feedforward_layernorm")),
    )


def _window(settings: ModelSettings, shape: Shape, layer: int) -> int:
    """The window of a layer: every other one of Gemma 2 has one, five of six of Gemma 3."""
    period = 2
    if _kind(settings) == _THIRD:
        settings.value("_sliding_window_pattern")  # a copy
        period = settings.size("sliding_window_pattern", 6)
    return gated.window_of(settings, shape, layer, lambda i: bool((i + 1) % period))


def _rotation(settings: ModelSettings, size: int, local: bool) -> Rotation:
    """The RoPE of layers; in Gemma 3 those with a window have their own."""
    if _kind(settings) != _THIRD:
        return gated.rope_of(settings, size)
    inner = rope.extra(settings)
    parts = [inner.part(name) for name in ("full_attention", "sliding_attention")]
    bases = (settings.number("rope_theta", 1e6), settings.number("rope_local_base_freq", 1e4))
    if not any(parts):  # the old form, whose object is that of layers without a window
        parts = [inner, None]
    both = [
        rope.read(settings, size, part or ModelSettings({}), base)
        for part, base in zip(parts, bases, strict=True)
    ]
    return both[local]


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    ends = gated.ends_of(take, settings, shape, tied=True)
    head = ends.head
    if _kind(settings) != _FIRST and head is not None:
        head = replace(head, cap=settings.cap("final_logit_softcapping"))
    exit_norm = _norm(take, settings, "norm", shape.d)
    return replace(ends, scale=math.sqrt(shape.d), exit=exit_norm, head=head)


_ASSUMED = {
    "head_dim": 256,
    "max_position_embeddings": 8192,
}
_LATER = {
    "num_key_value_heads": 4,
    "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 256,
    "sliding_window": 4096,
}

GEMMA = Family(
    "gemma",
    {
        _FIRST: _ASSUMED | {"num_key_value_heads": 16, "hidden_act": "gelu_pytorch_tanh"},
        _SECOND: {
            **_ASSUMED,
            **_LATER,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        },
        _THIRD: _ASSUMED | _LATER | {"max_position_embeddings": 131072},
    },
    "model.",
    _shape,
    _block,
    _ends,
)
