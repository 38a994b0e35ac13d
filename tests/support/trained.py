"""Tiny random models in the names of Hugging Face, for every architecture."""

from __future__ import annotations

import numpy as np

VOCABULARY, LONGEST = 19, 16


def rounded(rng, *shape):
    """Random multiples of 1/64 up to 1, which are exact in bfloat16 and float16."""
    return (np.clip(np.rint(26 * rng.standard_normal(shape)), -63, 63) / 64).astype(np.float32)


def llama(rng, d=16, heads=4, kv=2, width=24, layers=2, biases=False, **extra):
    inner, m = heads * (d // heads), d // heads
    tensors = {"model.embed_tokens.weight": rounded(rng, VOCABULARY, d)}
    for i in range(layers):
        at = f"model.layers.{i}."
        tensors |= {
            f"{at}self_attn.q_proj.weight": rounded(rng, inner, d),
            f"{at}self_attn.k_proj.weight": rounded(rng, kv * m, d),
            f"{at}self_attn.v_proj.weight": rounded(rng, kv * m, d),
            f"{at}self_attn.o_proj.weight": rounded(rng, d, inner),
            f"{at}mlp.gate_proj.weight": rounded(rng, width, d),
            f"{at}mlp.up_proj.weight": rounded(rng, width, d),
            f"{at}mlp.down_proj.weight": rounded(rng, d, width),
            f"{at}input_layernorm.weight": 1 + rounded(rng, d),
            f"{at}post_attention_layernorm.weight": 1 + rounded(rng, d),
        }
        for name in ("self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o",
                     "mlp.gate", "mlp.up", "mlp.down") if biases else ():  # fmt: skip
            rows = len(tensors[f"{at}{name}_proj.weight"])
            tensors[f"{at}{name}_proj.bias"] = rounded(rng, rows)
    tensors |= {"model.norm.weight": 1 + rounded(rng, d)}
    config = {
        "model_type": "llama",
        **sizes(d, heads, layers, width),
        "num_key_value_heads": kv,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
    }
    if biases:
        config |= {"attention_bias": True, "mlp_bias": True}
    return config | extra, tensors


def mistral(rng, **extra):
    config, tensors = llama(rng)
    return config | {"model_type": "mistral", "sliding_window": 3} | extra, tensors


def gpt2(rng, d=12, heads=3, layers=2):
    tensors = {"wte.weight": rounded(rng, VOCABULARY, d), "wpe.weight": rounded(rng, LONGEST, d)}
    for i in range(layers):
        at = f"h.{i}."
        tensors |= norms(rng, d, f"{at}ln_1", f"{at}ln_2")
        for name, rows, columns in (
            ("attn.c_attn", d, 3 * d),
            ("attn.c_proj", d, d),
            ("mlp.c_fc", d, 4 * d),
            ("mlp.c_proj", 4 * d, d),
        ):
            tensors[f"{at}{name}.weight"] = rounded(rng, rows, columns)
            tensors[f"{at}{name}.bias"] = rounded(rng, columns)
    tensors |= norms(rng, d, "ln_f")
    config = {
        "model_type": "gpt2",
        "n_embd": d,
        "n_head": heads,
        "n_layer": layers,
        "n_positions": LONGEST,
        "vocab_size": VOCABULARY,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
    }
    return config, tensors


def neox(rng, d=16, heads=2, layers=2, **extra):
    width = 3 * d
    tensors = {
        "gpt_neox.embed_in.weight": rounded(rng, VOCABULARY, d),
        "embed_out.weight": rounded(rng, VOCABULARY, d),
    }
    for i in range(layers):
        at = f"gpt_neox.layers.{i}."
        tensors |= norms(rng, d, f"{at}input_layernorm", f"{at}post_attention_layernorm")
        tensors |= linear(rng, f"{at}attention.query_key_value", 3 * d, d)
        tensors |= linear(rng, f"{at}attention.dense", d, d)
        tensors |= linear(rng, f"{at}mlp.dense_h_to_4h", width, d)
        tensors |= linear(rng, f"{at}mlp.dense_4h_to_h", d, width)
    tensors |= norms(rng, d, "gpt_neox.final_layer_norm")
    config = {
        "model_type": "gpt_neox",
        **sizes(d, heads, layers, width),
        "rotary_pct": 0.5,
        "rotary_emb_base": 10000,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "use_parallel_residual": True,
        "tie_word_embeddings": False,
    }
    return config | extra, tensors


def bert(rng, d=12, heads=3, width=20, layers=2, **extra):
    tensors = _embeddings(rng, "bert.embeddings.", d)
    for i in range(layers):
        at = f"bert.encoder.layer.{i}."
        for name in ("query", "key", "value"):
            tensors |= linear(rng, f"{at}attention.self.{name}", d, d)
        tensors |= linear(rng, f"{at}attention.output.dense", d, d)
        tensors |= norms(rng, d, f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm")
        tensors |= linear(rng, f"{at}intermediate.dense", width, d)
        tensors |= linear(rng, f"{at}output.dense", d, width)
    at = "cls.predictions."
    tensors |= linear(rng, f"{at}transform.dense", d, d)
    tensors |= norms(rng, d, f"{at}transform.LayerNorm")
    tensors[f"{at}bias"] = rounded(rng, VOCABULARY)
    config = {
        "model_type": "bert",
        **sizes(d, heads, layers, width),
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    return config | extra, tensors


def albert(rng, d=12, heads=3, width=20, layers=4, groups=2, e=8, **extra):
    tensors = _embeddings(rng, "albert.embeddings.", e)
    tensors |= linear(rng, "albert.encoder.embedding_hidden_mapping_in", d, e)
    for i in range(groups):
        at = f"albert.encoder.albert_layer_groups.{i}.albert_layers.0."
        for name in ("query", "key", "value", "dense"):
            tensors |= linear(rng, f"{at}attention.{name}", d, d)
        tensors |= norms(rng, d, f"{at}attention.LayerNorm", f"{at}full_layer_layer_norm")
        tensors |= linear(rng, f"{at}ffn", width, d)
        tensors |= linear(rng, f"{at}ffn_output", d, width)
    tensors |= linear(rng, "predictions.dense", e, d)
    tensors |= norms(rng, e, "predictions.LayerNorm")
    tensors["predictions.bias"] = rounded(rng, VOCABULARY)
    config = bert(rng, d, heads, width, layers)[0] | {
        "model_type": "albert",
        "embedding_size": e,
        "num_hidden_groups": groups,
        "inner_group_num": 1,
        "hidden_act": "gelu_new",
    }
    return config | extra, tensors


def untied(rng, tensors, at, e):
    """The tensors of a model that fills masks, with an unembedding of its own."""
    return tensors | linear(rng, f"{at}decoder", VOCABULARY, e)


def roberta(rng, d=12, **extra):
    """BERT with other names; its first two rows of positions are for the padding."""
    config, tensors = bert(rng, d)
    at = "cls.predictions."
    names = {f"{at}transform.dense": "lm_head.dense", f"{at}bias": "lm_head.bias",
             f"{at}transform.LayerNorm": "lm_head.layer_norm", "bert.": "roberta."}  # fmt: skip
    own = {"model_type": "roberta", "pad_token_id": 1}
    return config | own | extra, _renamed(tensors, names)


def distilbert(rng, d=12, heads=3, width=20, layers=2, **extra):
    """BERT with other names, without types of tokens."""
    _, tensors = bert(rng, d, heads, width, layers)
    del tensors["bert.embeddings.token_type_embeddings.weight"]
    at = "cls.predictions."
    names = {f"{at}transform.dense": "vocab_transform", f"{at}bias": "vocab_projector.bias",
             f"{at}transform.LayerNorm": "vocab_layer_norm", "bert.": "distilbert.",
             "encoder.layer": "transformer.layer", "attention.self.query": "attention.q_lin",
             "attention.self.key": "attention.k_lin", "attention.self.value": "attention.v_lin",
             "attention.output.dense": "attention.out_lin", "intermediate.dense": "ffn.lin1",
             "attention.output.LayerNorm": "sa_layer_norm", "output.dense": "ffn.lin2",
             "output.LayerNorm": "output_layer_norm"}  # fmt: skip
    config = {
        "model_type": "distilbert",
        "dim": d,
        "n_heads": heads,
        "n_layers": layers,
        "hidden_dim": width,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LONGEST,
        "activation": "gelu",
    }
    return config | extra, _renamed(tensors, names)


def _renamed(tensors, names):
    renamed = {}
    for name, values in tensors.items():
        for old, new in names.items():
            name = name.replace(old, new)
        renamed[name] = values
    return renamed


def sizes(d, heads, layers, width):
    return {
        "hidden_size": d,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LONGEST,
    }


def norms(rng, d, *names):
    tensors = {}
    for name in names:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = 1 + rounded(rng, d), rounded(rng, d)
    return tensors


def linear(rng, name, rows, columns):
    return {f"{name}.weight": rounded(rng, rows, columns), f"{name}.bias": rounded(rng, rows)}


def _embeddings(rng, at, e):
    return {
        f"{at}word_embeddings.weight": rounded(rng, VOCABULARY, e),
        f"{at}position_embeddings.weight": rounded(rng, LONGEST, e),
        f"{at}token_type_embeddings.weight": rounded(rng, 2, e),
        **norms(rng, e, f"{at}LayerNorm"),
    }
