"""Llama and its relatives: RMSNorm before, RoPE, grouped keys and values, a gated MLP."""

from __future__ import annotations

from parkade.trained.block import (
    AttentionWeights,
    Block,
    Ends,
    Floats,
    MLPWeights,
    NormWeights,
    Shape,
)
from parkade.trained.families import rope
from parkade.trained.families.family import Family
from parkade.trained.families.take import ModelSettings, Take, divided, readout


def _shape(settings: ModelSettings) -> Shape:
    d, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    d_head = settings.size("head_dim", 0) or divided("hidden_size", d, heads)
    kv = settings.size("num_key_value_heads", heads)
    divided("num_attention_heads", heads, kv)
    longest = settings.size("max_position_embeddings", 2048)
    window = settings.size("sliding_window", longest)
    return Shape(
        family="llama",
        d=d,
        layers=settings.size("num_hidden_layers"),
        heads=heads,
        kv_heads=kv,
        d_head=d_head,
        width=settings.size("intermediate_size"),
        vocabulary=settings.size("vocab_size"),
        order="pre",
        activation=settings.activation("hidden_act", "silu"),
        causal=True,
        longest=min(longest, window),
        turns=rope.frequencies(settings, d_head),
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    d, width, at = shape.d, shape.width, f"layers.{layer}."
    inner, shared = shape.heads * shape.d_head, shape.kv_heads * shape.d_head

    def turned(rows: Floats | None, heads: int) -> Floats | None:
        if rows is None or settings.flag("rope_interleaved", False):
            return rows
        return rope.interleave(rows, heads, shape.d_head)

    q = turned(take(f"{at}self_attn.q_proj.weight", inner, d), shape.heads)
    k = turned(take(f"{at}self_attn.k_proj.weight", shared, d), shape.kv_heads)
    assert q is not None
    assert k is not None
    attention = AttentionWeights(
        q=q,
        k=k,
        v=take(f"{at}self_attn.v_proj.weight", shared, d),
        o=take(f"{at}self_attn.o_proj.weight", d, inner),
        bq=turned(take.maybe(f"{at}self_attn.q_proj.bias", inner), shape.heads),
        bk=turned(take.maybe(f"{at}self_attn.k_proj.bias", shared), shape.kv_heads),
        bv=take.maybe(f"{at}self_attn.v_proj.bias", shared),
        bo=take.maybe(f"{at}self_attn.o_proj.bias", d),
    )
    mlp = MLPWeights(
        up=take(f"{at}mlp.up_proj.weight", width, d),
        down=take(f"{at}mlp.down_proj.weight", d, width),
        gate=take(f"{at}mlp.gate_proj.weight", width, d),
    )
    names = ("input_layernorm", "post_attention_layernorm")
    first, second = (_norm(take, settings, f"{at}{name}", d) for name in names)
    return Block(attention, mlp, (first, second))


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    embedding = take("embed_tokens.weight", shape.vocabulary, shape.d)
    head = readout(take, settings, embedding, ("lm_head.weight",), tied=False)
    return Ends(embedding, exit=_norm(take, settings, "norm", shape.d), head=head)


def _norm(take: Take, settings: ModelSettings, name: str, d: int) -> NormWeights:
    eps = settings.number("rms_norm_eps", 1e-6)
    return NormWeights(take(f"{name}.weight", d), None, eps, centred=False)


LLAMA = Family("llama", ("llama", "mistral", "qwen2"), "model.", _shape, _block, _ends)
