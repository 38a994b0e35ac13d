"""DistilBERT: BERT without types of tokens, and with other names."""

from __future__ import annotations

from parkade.trained.block import Block, Ends, Shape
from parkade.trained.families import bert
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings, divided
from parkade.trained.families.common.take import Take

_EPS = 1e-12
_NAMES = ("q_lin", "k_lin", "v_lin")


def _shape(settings: ModelSettings) -> Shape:
    d, heads = settings.size("dim"), settings.size("n_heads")
    return Shape(
        family="distilbert",
        d=d,
        layers=settings.size("n_layers"),
        heads=heads,
        kv_heads=heads,
        d_head=divided("dim", d, heads),
        width=settings.size("hidden_dim"),
        vocabulary=settings.size("vocab_size"),
        order="post",
        activation=settings.activation("activation", "gelu"),
        causal=False,
        longest=settings.size("max_position_embeddings", 512),
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at = f"transformer.layer.{layer}."
    first = take.layer_norm(f"{at}sa_layer_norm", shape.d, _EPS)
    second = take.layer_norm(f"{at}output_layer_norm", shape.d, _EPS)
    return Block(
        bert.heads_of(take, shape, f"{at}attention.", f"{at}attention.out_lin", _NAMES),
        bert.network_of(take, shape, f"{at}ffn.lin1", f"{at}ffn.lin2"),
        (first, second),
    )


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    embedding = take("embeddings.word_embeddings.weight", shape.vocabulary, shape.d)
    decoder = "vocab_projector"
    names = bert.HeadNames("vocab_transform", "vocab_layer_norm", decoder, f"{decoder}.bias")
    return Ends(
        embedding,
        positions=take("embeddings.position_embeddings.weight", shape.longest, shape.d),
        entry=take.layer_norm("embeddings.LayerNorm", shape.d, _EPS),
        head=bert.mask_head(take, settings, shape, embedding, names, _EPS),
    )


DISTILBERT = Family("distilbert", {"distilbert": {}}, "distilbert.", _shape, _block, _ends)
