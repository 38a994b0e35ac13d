"""GPT-2: LayerNorm before each part, biases, learned positions; matrices are (in, out)."""

from __future__ import annotations

import numpy as np

from parkade.trained.block import AttentionWeights, Block, Ends, MLPWeights, NormWeights, Shape
from parkade.trained.families.common.family import Family
from parkade.trained.families.common.settings import ModelSettings, divided
from parkade.trained.families.common.take import Take, readout

_ONLY = {"scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True}


def _shape(settings: ModelSettings) -> Shape:
    for name, known in _ONLY.items():
        settings.only(name, known, "GPT-2")
    d, heads = settings.size("n_embd"), settings.size("n_head")
    return Shape(
        family="gpt2",
        d=d,
        layers=settings.size("n_layer"),
        heads=heads,
        kv_heads=heads,
        d_head=divided("n_embd", d, heads),
        width=settings.size("n_inner", 4 * d),
        vocabulary=settings.size("vocab_size"),
        order="pre",
        activation=settings.activation("activation_function", "gelu_new"),
        causal=True,
        longest=settings.size("n_positions", 1024),
    )


def _block(take: Take, settings: ModelSettings, shape: Shape, layer: int) -> Block:
    d, width, at = shape.d, shape.width, f"h.{layer}."
    q, k, v = np.split(take(f"{at}attn.c_attn.weight", d, 3 * d).T, 3)
    bq, bk, bv = np.split(take(f"{at}attn.c_attn.bias", 3 * d), 3)
    o, bo = take(f"{at}attn.c_proj.weight", d, d).T, take(f"{at}attn.c_proj.bias", d)
    mlp = MLPWeights(
        up=take(f"{at}mlp.c_fc.weight", d, width).T,
        down=take(f"{at}mlp.c_proj.weight", width, d).T,
        b_up=take(f"{at}mlp.c_fc.bias", width),
        b_down=take(f"{at}mlp.c_proj.bias", d),
    )
    first, second = (_norm(take, settings, f"{at}{name}", d) for name in ("ln_1", "ln_2"))
    return Block(AttentionWeights(q, k, v, o, bq, bk, bv, bo), mlp, (first, second))


def _ends(take: Take, settings: ModelSettings, shape: Shape) -> Ends:
    embedding = take("wte.weight", shape.vocabulary, shape.d)
    return Ends(
        embedding,
        positions=take("wpe.weight", shape.longest, shape.d),
        exit=_norm(take, settings, "ln_f", shape.d),
        head=readout(take, settings, embedding, ("lm_head.weight",), tied=True),
    )


def _norm(take: Take, settings: ModelSettings, name: str, d: int) -> NormWeights:
    eps = settings.epsilon("layer_norm_epsilon", 1e-5)
    return take.layer_norm(name, d, eps)


GPT2 = Family("gpt2", {"gpt2": {}}, "transformer.", _shape, _block, _ends)
