"""Llama: RMSNorm before each part, RoPE, grouped keys and values, a gated MLP."""

from __future__ import annotations

from parkade.trained.block import Block, Shape
from parkade.trained.families.common import gated
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at = f"layers.{layer}."
    biases = "qkvo" if settings.flag("attention_bias", False) else ""
    attention = gated.attention_of(take, shape, f"{at}self_attn.", biases)
    attention = gated.turned(attention, shape, gated.rope_of(settings, shape.d_head))
    mlp = gated.network_of(take, shape, f"{at}mlp.", biases=settings.flag("mlp_bias", False))
    return gated.pre_norm(take, settings, at, attention, mlp)


LLAMA = Family(
    "llama",
    {"llama": {}},
    "model.",
    gated.shape_of,
    _block,
    gated.ends_of,
)
