"""ALBERT: BERT with small embeddings and the same weights in many layers."""

from __future__ import annotations

from dataclasses import replace

from parkade.base.errors import InputError
from parkade.trained.block import Block, Ends, Shape
from parkade.trained.families import bert
from parkade.trained.families.family import Family
from parkade.trained.families.take import ModelSettings, Take


def _shape(settings: ModelSettings) -> Shape:
    inner = settings.size("inner_group_num", 1)
    if inner != 1:
        raise InputError(f"ALBERT with inner_group_num={inner} is unknown; known is 1")
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
    e, at = settings.size("embedding_size", shape.d), "predictions."
    return bert.ends_of(take, settings, shape, e, at, at)


ALBERT = Family("albert", ("albert",), "albert.", _shape, _block, _ends)
