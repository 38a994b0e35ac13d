"""SmolLM 3: Llama in which every fourth layer has no positions."""

from __future__ import annotations

from functools import partial

from parkade.trained.block import Block, Shape
from parkade.trained.families.common import gated
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.rope import Rotation
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at = f"layers.{layer}."
    biases = "qkvo" if settings.flag("attention_bias", False) else ""
    attention = gated.attention_of(take, shape, f"{at}self_attn.", biases)
    settings.value("max_window_layers")  # has no effect
    turns, rope = _turns(settings, shape.layers, layer), gated.rope_of(settings, shape.d_head)
    window = gated.window_of(settings, shape, layer, lambda _: not turns, switched=True)
    attention = gated.turned(attention, shape, rope if turns else Rotation(), window=window)
    mlp = gated.network_of(take, shape, f"{at}mlp.", biases=settings.flag("mlp_bias", False))
    return gated.pre_norm(take, settings, at, attention, mlp)


def _turns(settings: ModelSettings, layers: int, layer: int) -> bool:
    """Whether a layer has RoPE: its entry in no_rope_layers is not 0."""
    period = settings.size("no_rope_layer_interval", 4)
    listed = settings.each("no_rope_layers", layers)
    return bool((layer + 1) % period if listed is None else listed[layer])


_ASSUMED = {
    "num_key_value_heads": 4,
    "rope_theta": 2e6,
    "max_position_embeddings": 32768,
}

SMOLLM3 = Family(
    "smollm3",
    {"smollm3": _ASSUMED},
    "model.",
    gated.shape_of,
    _block,
    partial(gated.ends_of, tied=True),
)
