"""BERT: an encoder with LayerNorm after each part, biases, and learned positions."""

from __future__ import annotations

from functools import partial

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.block import (
    AttentionWeights,
    Block,
    Ends,
    MLPWeights,
    NormWeights,
    Readout,
    Shape,
)
from parkade.trained.families.family import Family
from parkade.trained.families.take import ModelSettings, Take, divided


def shape_of(settings: ModelSettings, family: str) -> Shape:
    """The sizes of an encoder."""
    kind = settings.config.get("position_embedding_type") or "absolute"
    if kind != "absolute":
        got = check.brief(kind)
        raise InputError(f"positions of the kind {got} are unknown; known are 'absolute' ones")
    d, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    return Shape(
        family=family,
        d=d,
        layers=settings.size("num_hidden_layers"),
        heads=heads,
        kv_heads=heads,
        d_head=divided("hidden_size", d, heads),
        width=settings.size("intermediate_size"),
        vocabulary=settings.size("vocab_size"),
        order="post",
        activation=settings.activation("hidden_act", "gelu"),
        causal=False,
        longest=settings.size("max_position_embeddings"),
    )


def norm(take: Take, settings: ModelSettings, name: str, size: int) -> NormWeights:
    """A LayerNorm; old files say gamma and beta."""
    gain, bias = ("weight", "bias") if f"{name}.weight" in take else ("gamma", "beta")
    return NormWeights(
        take(f"{name}.{gain}", size),
        take(f"{name}.{bias}", size),
        settings.number("layer_norm_eps", 1e-12),
        centred=True,
    )


def heads_of(take: Take, shape: Shape, inside: str, out: str) -> AttentionWeights:
    """Attention from the tensors `inside`query, … and `out`."""
    d = shape.d
    q, k, v = (take(f"{inside}{name}.weight", d, d) for name in ("query", "key", "value"))
    bq, bk, bv = (take(f"{inside}{name}.bias", d) for name in ("query", "key", "value"))
    o, bo = take(f"{out}.weight", d, d), take(f"{out}.bias", d)
    return AttentionWeights(q, k, v, o, bq, bk, bv, bo)


def network_of(take: Take, shape: Shape, up: str, down: str) -> MLPWeights:
    """An MLP from the tensors `up` and `down`."""
    d, width = shape.d, shape.width
    return MLPWeights(
        up=take(f"{up}.weight", width, d),
        down=take(f"{down}.weight", d, width),
        b_up=take(f"{up}.bias", width),
        b_down=take(f"{down}.bias", d),
    )


def ends_of(take: Take, settings: ModelSettings, shape: Shape, e: int, at: str, dense: str) -> Ends:
    """Embeddings of size e, and the head that fills masks, if there is one.

    The names of the head's tensors begin with `at`, those of its inner layer with `dense`.
    """
    types = settings.size("type_vocab_size", 2)
    head = enlarge = None
    if f"{dense}dense.weight" in take:
        own = f"{at}decoder.weight" in take
        name = f"{at}decoder.weight" if own else "embeddings.word_embeddings.weight"
        head = Readout(
            unembed=take(name, shape.vocabulary, e),
            bias=take.maybe(f"{at}bias", shape.vocabulary),
            dense=(take(f"{dense}dense.weight", e, shape.d), take(f"{dense}dense.bias", e)),
            activation=shape.activation,
            norm=norm(take, settings, f"{dense}LayerNorm", e),
        )
    if "encoder.embedding_hidden_mapping_in.weight" in take:
        name = "encoder.embedding_hidden_mapping_in"
        enlarge = take(f"{name}.weight", shape.d, e), take(f"{name}.bias", shape.d)
    return Ends(
        embedding=take("embeddings.word_embeddings.weight", shape.vocabulary, e),
        positions=take("embeddings.position_embeddings.weight", shape.longest, e),
        constant=take("embeddings.token_type_embeddings.weight", types, e)[0],
        entry=norm(take, settings, "embeddings.LayerNorm", e),
        enlarge=enlarge,
        head=head,
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    at = f"encoder.layer.{layer}."
    first = norm(take, settings, f"{at}attention.output.LayerNorm", shape.d)
    second = norm(take, settings, f"{at}output.LayerNorm", shape.d)
    return Block(
        heads_of(take, shape, f"{at}attention.self.", f"{at}attention.output.dense"),
        network_of(take, shape, f"{at}intermediate.dense", f"{at}output.dense"),
        (first, second),
    )


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    at = "cls.predictions."
    return ends_of(take, settings, shape, shape.d, at, f"{at}transform.")


BERT = Family("bert", ("bert",), "bert.", partial(shape_of, family="bert"), _block, _ends)
