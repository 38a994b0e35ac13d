"""BERT: LayerNorm after each part, biases, and learned positions; an encoder or a decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace

from parkade.trained.block import (
    AttentionWeights,
    Block,
    Ends,
    Floats,
    MLPWeights,
    NormWeights,
    Readout,
    Shape,
)
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings, divided
from parkade.trained.families.common.take import Take


def shape_of(settings: ModelSettings, family: str) -> Shape:
    """The sizes of an encoder."""
    settings.only("position_embedding_type", "absolute", "an encoder")
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
        longest=settings.size("max_position_embeddings", 512),
    )


def norm(take: Take, settings: ModelSettings, name: str, size: int) -> NormWeights:
    """A LayerNorm with the eps of the settings."""
    return _norm(take, name, size, settings.epsilon("layer_norm_eps", 1e-12))


def _norm(take: Take, name: str, size: int, eps: float) -> NormWeights:
    """A LayerNorm; old files say gamma and beta."""
    gain, bias = ("weight", "bias") if f"{name}.weight" in take else ("gamma", "beta")
    return NormWeights(
        take(f"{name}.{gain}", size), take(f"{name}.{bias}", size), eps, centred=True
    )


def heads_of(
    take: Take,
    shape: Shape,
    inside: str,
    out: str,
    names: tuple[str, ...] = ("query", "key", "value"),
) -> AttentionWeights:
    """Attention from the tensors `inside`query, … and `out`."""
    d = shape.d
    q, k, v = (take(f"{inside}{name}.weight", d, d) for name in names)
    bq, bk, bv = (take(f"{inside}{name}.bias", d) for name in names)
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


def ends_of(take: Take, settings: ModelSettings, shape: Shape, e: int, head: HeadNames) -> Ends:
    """Embeddings of size e, and the head that fills masks, if there is one."""
    types, eps = settings.size("type_vocab_size", 2), settings.epsilon("layer_norm_eps", 1e-12)
    rows = settings.size("max_position_embeddings", 512)
    embedding = take("embeddings.word_embeddings.weight", shape.vocabulary, e)
    return Ends(
        embedding=embedding,
        positions=take("embeddings.position_embeddings.weight", rows, e),
        constant=take("embeddings.token_type_embeddings.weight", types, e)[0],
        entry=_norm(take, "embeddings.LayerNorm", e, eps),
        head=mask_head(take, settings, shape, embedding, head, eps),
    )


@dataclass(frozen=True)
class HeadNames:
    """The names of the tensors of the head that fills masks."""

    dense: str
    norm: str
    decoder: str
    bias: str


def mask_head(
    take: Take,
    settings: ModelSettings,
    shape: Shape,
    embedding: Floats,
    names: HeadNames,
    eps: float,
) -> Readout | None:
    """The head that fills masks, if the file has one.

    If it is tied to the embedding, its bias may have two names; if not, `names.bias` has no effect.
    """
    tied = settings.flag("tie_word_embeddings", True)
    if f"{names.dense}.weight" not in take:
        return None
    (vocabulary, e), decoder = embedding.shape, names.decoder
    bias = take.maybe(names.bias, vocabulary)
    if tied:
        unembed = take.tied(f"{decoder}.weight", embedding)
        own = f"{decoder}.bias"
        bias = take.maybe(own, vocabulary) if bias is None else take.tied(own, bias)
    else:
        unembed = take(f"{decoder}.weight", vocabulary, e)
        bias = take(f"{decoder}.bias", vocabulary)
    return Readout(
        unembed=unembed,
        bias=bias,
        dense=(take(f"{names.dense}.weight", e, shape.d), take(f"{names.dense}.bias", e)),
        activation=shape.activation,
        norm=_norm(take, names.norm, e, eps),
    )


def decoder_or_encoder(settings: ModelSettings, shape: Shape) -> Shape:
    """The shape with a causal mask, if the settings ask for a decoder."""
    settings.only("add_cross_attention", False, "a model of text alone")
    return replace(shape, causal=settings.flag("is_decoder", False))


def block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    """A layer of BERT or RoBERTa."""
    at = f"encoder.layer.{layer}."
    first = norm(take, settings, f"{at}attention.output.LayerNorm", shape.d)
    second = norm(take, settings, f"{at}output.LayerNorm", shape.d)
    return Block(
        heads_of(take, shape, f"{at}attention.self.", f"{at}attention.output.dense"),
        network_of(take, shape, f"{at}intermediate.dense", f"{at}output.dense"),
        (first, second),
    )


def _shape(settings: ModelSettings) -> Shape:
    return decoder_or_encoder(settings, shape_of(settings, "bert"))


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    at = "cls.predictions."
    names = HeadNames(
        f"{at}transform.dense", f"{at}transform.LayerNorm", f"{at}decoder", f"{at}bias"
    )
    return ends_of(take, settings, shape, shape.d, names)


BERT = Family("bert", {"bert": {}}, "bert.", _shape, block, _ends)
