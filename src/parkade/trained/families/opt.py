"""OPT: LayerNorm before each part, biases, ReLU, learned positions from the third row on."""

from __future__ import annotations

from parkade.trained.block import AttentionWeights, Block, Ends, MLPWeights, Shape
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings, divided
from parkade.trained.families.common.take import Take, readout

_ONLY = {
    "do_layer_norm_before": True,
    "_remove_final_layer_norm": False,
    "enable_bias": True,
    "layer_norm_elementwise_affine": True,
}
_EPS = 1e-5
_SKIPPED = 2  # rows of positions


def _shape(settings: ModelSettings) -> Shape:
    for name, known in _ONLY.items():
        settings.only(name, known, "OPT")
    d, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    settings.only("word_embed_proj_dim", d, f"OPT with hidden_size={d}")
    return Shape(
        family="opt",
        d=d,
        layers=settings.size("num_hidden_layers"),
        heads=heads,
        kv_heads=heads,
        d_head=divided("hidden_size", d, heads),
        width=settings.size("ffn_dim"),
        vocabulary=settings.size("vocab_size"),
        order="pre",
        activation=settings.activation("activation_function", "relu"),
        causal=True,
        longest=settings.size("max_position_embeddings", 2048),
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    d, width, at = shape.d, shape.width, f"decoder.layers.{layer}."
    names = [f"{at}self_attn.{name}_proj" for name in ("q", "k", "v", "out")]
    q, k, v, o = (take(f"{name}.weight", d, d) for name in names)
    bq, bk, bv, bo = (take(f"{name}.bias", d) for name in names)
    mlp = MLPWeights(
        up=take(f"{at}fc1.weight", width, d),
        down=take(f"{at}fc2.weight", d, width),
        b_up=take(f"{at}fc1.bias", width),
        b_down=take(f"{at}fc2.bias", d),
    )
    first = take.layer_norm(f"{at}self_attn_layer_norm", d, _EPS)
    second = take.layer_norm(f"{at}final_layer_norm", d, _EPS)
    return Block(AttentionWeights(q, k, v, o, bq, bk, bv, bo), mlp, (first, second))


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    embedding = take("decoder.embed_tokens.weight", shape.vocabulary, shape.d)
    rows = shape.longest + _SKIPPED
    return Ends(
        embedding,
        positions=take("decoder.embed_positions.weight", rows, shape.d)[_SKIPPED:],
        exit=take.layer_norm("decoder.final_layer_norm", shape.d, _EPS),
        head=readout(take, settings, embedding, ("lm_head.weight",), tied=True),
    )


_ASSUMED = {"word_embed_proj_dim": 768}

OPT = Family("opt", {"opt": _ASSUMED}, "model.", _shape, _block, _ends)
