"""Phi-3: Llama with stacked matrices, RoPE of some axes, and a window in all layers."""

from __future__ import annotations

from functools import partial

from parkade.trained.block import AttentionWeights, Block, MLPWeights, Shape
from parkade.trained.families.common import gated, rope
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.rope import Rotation
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take

_EPS = 1e-5


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    d, width, at = shape.d, shape.width, f"layers.{layer}."
    inner, shared = shape.heads * shape.d_head, shape.kv_heads * shape.d_head
    together = take(f"{at}self_attn.qkv_proj.weight", inner + 2 * shared, d)
    attention = AttentionWeights(
        q=together[:inner],
        k=together[inner : inner + shared],
        v=together[inner + shared :],
        o=take(f"{at}self_attn.o_proj.weight", d, inner),
    )
    both = take(f"{at}mlp.gate_up_proj.weight", 2 * width, d)
    down = take(f"{at}mlp.down_proj.weight", d, width)
    window = settings.size("sliding_window", 0)
    attention = gated.turned(attention, shape, _rotation(settings, shape.d_head), window=window)
    mlp = MLPWeights(up=both[width:], down=down, gate=both[:width])
    return gated.pre_norm(take, settings, at, attention, mlp, _EPS)


def _rotation(settings: ModelSettings, d_head: int) -> Rotation:
    inner = rope.extra(settings)
    for name in ("rope_type", "type"):  # others than this one are all read as 'longrope'
        inner.only(name, "default", "Phi-3")
    for part in (inner, settings):
        part.value("original_max_position_embeddings")  # for 'longrope'
    size = rope.axes(settings, inner, d_head, 1.0)
    return rope.read(settings, size, inner, settings.number("rope_theta", 1e4))


_ASSUMED = {"max_position_embeddings": 4096}

PHI3 = Family(
    "phi3",
    {"phi3": _ASSUMED},
    "model.",
    gated.shape_of,
    _block,
    partial(gated.ends_of, eps=_EPS),
)
