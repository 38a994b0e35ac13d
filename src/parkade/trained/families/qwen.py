"""Qwen 2 and 3: Llama with windows in later layers; biases in one, norms of heads in the other."""

from __future__ import annotations

from dataclasses import replace

from parkade.trained.block import Block, Shape
from parkade.trained.families.common import gated
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at = f"layers.{layer}."
    biases = "qkv"
    if settings.value("model_type") == "qwen3":
        biases = "qkvo" if settings.flag("attention_bias", False) else ""
    attention = gated.attention_of(take, shape, f"{at}self_attn.", biases)
    if settings.value("model_type") == "qwen3":
        names = (f"{at}self_attn.q_norm", f"{at}self_attn.k_norm")
        first, second = (gated.norm_of(take, settings, name, shape.d_head) for name in names)
        attention = replace(attention, norms=(first, second))
    wide = settings.size("max_window_layers", 28)
    window = gated.window_of(settings, shape, layer, lambda i: i >= wide, switched=True)
    rope = gated.rope_of(settings, shape.d_head)
    attention = gated.turned(attention, shape, rope, window=window)
    return gated.pre_norm(take, settings, at, attention, gated.network_of(take, shape, f"{at}mlp."))


_ASSUMED = {
    "num_key_value_heads": 32,
    "max_position_embeddings": 32768,
}

QWEN = Family(
    "qwen",
    {"qwen2": _ASSUMED, "qwen3": _ASSUMED | {"head_dim": 128}},
    "model.",
    gated.shape_of,
    _block,
    gated.ends_of,
)
