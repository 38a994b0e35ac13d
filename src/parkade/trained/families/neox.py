"""GPT-NeoX, as in Pythia: LayerNorm, attention and MLP side by side, RoPE of some axes."""

from __future__ import annotations

from parkade.trained.block import AttentionWeights, Block, Ends, MLPWeights, NormWeights, Shape
from parkade.trained.families.common import gated, rope
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings, divided
from parkade.trained.families.common.take import Take, readout


def _shape(settings: ModelSettings) -> Shape:
    d, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    d_head = divided("hidden_size", d, heads)
    return Shape(
        family="neox",
        d=d,
        layers=settings.size("num_hidden_layers"),
        heads=heads,
        kv_heads=heads,
        d_head=d_head,
        width=settings.size("intermediate_size"),
        vocabulary=settings.size("vocab_size"),
        order="parallel" if settings.flag("use_parallel_residual", True) else "pre",
        activation=settings.activation("hidden_act", "gelu"),
        causal=True,
        longest=settings.size("max_position_embeddings", 2048),
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    d, width, at = shape.d, shape.width, f"layers.{layer}."
    together = take(f"{at}attention.query_key_value.weight", 3 * d, d)
    # Each head has its rows of queries, keys and values one after the other.
    q, k, v = together.reshape(shape.heads, 3, shape.d_head, d).transpose(1, 0, 2, 3)
    q, k, v = (rows.reshape(d, d) for rows in (q, k, v))
    bq = bk = bv = bo = None
    if settings.flag("attention_bias", True):
        biases = take(f"{at}attention.query_key_value.bias", 3 * d)
        split = biases.reshape(shape.heads, 3, shape.d_head).transpose(1, 0, 2)
        bq, bk, bv = (rows.reshape(d) for rows in split)
        bo = take(f"{at}attention.dense.bias", d)
    attention = AttentionWeights(
        q=q,
        k=k,
        v=v,
        o=take(f"{at}attention.dense.weight", d, d),
        bq=bq,
        bk=bk,
        bv=bv,
        bo=bo,
    )
    mlp = MLPWeights(
        up=take(f"{at}mlp.dense_h_to_4h.weight", width, d),
        down=take(f"{at}mlp.dense_4h_to_h.weight", d, width),
        b_up=take(f"{at}mlp.dense_h_to_4h.bias", width),
        b_down=take(f"{at}mlp.dense_4h_to_h.bias", d),
    )
    names = ("input_layernorm", "post_attention_layernorm")
    first, second = (_norm(take, settings, f"{at}{name}", d) for name in names)
    return Block(
        gated.turned(attention, shape, _rope(settings, shape.d_head)), mlp, (first, second)
    )


def _rope(settings: ModelSettings, d_head: int) -> rope.Rotation:
    inner = rope.extra(settings)
    base = settings.number("rope_theta", settings.number("rotary_emb_base", 1e4))
    size = rope.axes(settings, inner, d_head, settings.number("rotary_pct", 0.25))
    return rope.read(settings, size, inner, base)


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    embedding = take("embed_in.weight", shape.vocabulary, shape.d)
    names = ("embed_out.weight", "lm_head.weight")  # old and new
    head = readout(take, settings, embedding, names, tied=False)
    exit_norm = _norm(take, settings, "final_layer_norm", shape.d)
    return Ends(embedding, exit=exit_norm, head=head)


def _norm(take: Take, settings: ModelSettings, name: str, d: int) -> NormWeights:
    eps = settings.epsilon("layer_norm_eps", 1e-5)
    return take.layer_norm(name, d, eps)


NEOX = Family("neox", {"gpt_neox": {}}, "gpt_neox.", _shape, _block, _ends)
