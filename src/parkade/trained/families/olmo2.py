"""OLMo 2: norms of forces instead of tokens, and of all queries and all keys together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from parkade.trained.block import Block, NormWeights, Shape
from parkade.trained.families.common import gated
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take

_EPS = 1e-5


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at = f"layers.{layer}."

    def norm(name: str, size: int) -> NormWeights:
        return gated.norm_of(take, settings, f"{at}{name}", size, _EPS)

    biases = "qkvo" if settings.flag("attention_bias", False) else ""
    attention = gated.attention_of(take, shape, f"{at}self_attn.", biases)
    norms = (
        norm("self_attn.q_norm", shape.heads * shape.d_head),
        norm("self_attn.k_norm", shape.kv_heads * shape.d_head),
    )
    rope = gated.rope_of(settings, shape.d_head)
    return Block(
        gated.turned(replace(attention, norms=norms), shape, rope),
        gated.network_of(take, shape, f"{at}mlp."),
        norms=None,
        after=(
            norm("post_attention_layernorm", shape.d),
            norm("post_feedforward_layernorm", shape.d),
        ),
    )


OLMO2 = Family(
    "olmo2",
    {"olmo2": {}},
    "model.",
    gated.shape_of,
    _block,
    partial(gated.ends_of, eps=_EPS),
)
