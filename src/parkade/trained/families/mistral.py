"""Mistral: Llama with a window in all layers."""

from __future__ import annotations

from parkade.trained.block import Block, Shape
from parkade.trained.families.common import gated
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at, window = f"layers.{layer}.", settings.size("sliding_window", 0)
    attention = gated.attention_of(take, shape, f"{at}self_attn.")
    rope = gated.rope_of(settings, shape.d_head)
    attention = gated.turned(attention, shape, rope, window=window)
    return gated.pre_norm(take, settings, at, attention, gated.network_of(take, shape, f"{at}mlp."))


_ASSUMED = {
    "num_key_value_heads": 8,
    "sliding_window": 4096,
    "max_position_embeddings": 131072,
}

MISTRAL = Family(
    "mistral",
    {"mistral": _ASSUMED},
    "model.",
    gated.shape_of,
    _block,
    gated.ends_of,
)
