"""ALBERT: BERT with small embeddings and the same weights in many layers."""

from __future__ import annotations

from dataclasses import replace

from parkade.trained.block import Block, Ends, Shape
from parkade.trained.families import bert
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take


def _shape(settings: ModelSettings) -> Shape:
    settings.only("inner_group_num", 1, "ALBERT")
    return replace(
        bert.shape_of(settings, "albert"), distinct=settings.size("num_hidden_groups", 1)
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, group: int) -> Block:
    at = f"encoder.albert_layer_groups.{group}.albert_layers.0."
    first = bert.norm(take, settings, f"{at}attention.LayerNorm", shape.d)
    second = bert.norm(take, settings, f"{at}full_layer_layer_norm", shape.d)
    return Block(
        bert.heads_of(take, shape, f"{at}attention.", f"{at}attention.dense"),
        bert.network_of(take, shape, f"{at}ffn", f"{at}ffn_output"),
        (first, second),
    )


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    e, at = settings.size("embedding_size", 128), "predictions."
    names = bert.HeadNames(f"{at}dense", f"{at}LayerNorm", f"{at}decoder", f"{at}bias")
    ends = bert.ends_of(take, settings, shape, e, names)
    name = "encoder.embedding_hidden_mapping_in"
    return replace(
        ends, enlarge=(take(f"{name}.weight", shape.d, e), take(f"{name}.bias", shape.d))
    )


ALBERT = Family("albert", {"albert": {"hidden_act": "gelu_new"}}, "albert.", _shape, _block, _ends)
