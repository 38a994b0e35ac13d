"""Tiny random models of the relatives of Llama, and of OPT."""

from __future__ import annotations

import numpy as np

from support.trained import LONGEST, VOCABULARY, linear, llama, norms, rounded, sizes

WINDOW = 3


def _more(rng, name, size, layers=2):
    """One more gain in each layer."""
    return {f"model.layers.{i}.{name}.weight": 1 + rounded(rng, size) for i in range(layers)}


def qwen2(rng, **extra):
    config, tensors = llama(rng)
    for i in range(2):
        for name, rows in (("q", 16), ("k", 8), ("v", 8)):
            tensors[f"model.layers.{i}.self_attn.{name}_proj.bias"] = rounded(rng, rows)
    windows = {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}
    return config | {"model_type": "qwen2"} | windows | extra, tensors


def qwen3(rng, **extra):
    config, tensors = llama(rng)
    tensors |= _more(rng, "self_attn.q_norm", 4) | _more(rng, "self_attn.k_norm", 4)
    return config | {"model_type": "qwen3", "head_dim": 4} | extra, tensors


def gemma(rng, **extra):
    config, tensors = llama(rng)
    own = {"model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "head_dim": 4}
    return config | own | extra, tensors


def gemma2(rng, **extra):
    config, tensors = llama(rng)
    for name in ("pre_feedforward_layernorm", "post_feedforward_layernorm"):
        tensors |= _more(rng, name, 16)
    own = {
        "model_type": "gemma2",
        "head_dim": 4,
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 9,
        "sliding_window": WINDOW,
        "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 30.0,
    }
    return config | own | extra, tensors


def gemma3(rng, **extra):
    config, tensors = gemma2(rng)
    tensors |= _more(rng, "self_attn.q_norm", 4) | _more(rng, "self_attn.k_norm", 4)
    del config["attn_logit_softcapping"], config["final_logit_softcapping"]
    own = {
        "model_type": "gemma3_text",
        "sliding_window_pattern": 2,
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }
    return config | own | extra, tensors


def phi3(rng, **extra):
    config, tensors = llama(rng)
    for i in range(2):
        at = f"model.layers.{i}."
        parts = [tensors.pop(f"{at}self_attn.{name}_proj.weight") for name in "qkv"]
        tensors[f"{at}self_attn.qkv_proj.weight"] = np.concatenate(parts)
        parts = [tensors.pop(f"{at}mlp.{name}_proj.weight") for name in ("gate", "up")]
        tensors[f"{at}mlp.gate_up_proj.weight"] = np.concatenate(parts)
    own = {"model_type": "phi3", "sliding_window": WINDOW, "partial_rotary_factor": 0.5}
    return config | own | extra, tensors


def olmo2(rng, **extra):
    config, tensors = llama(rng)
    tensors |= _more(rng, "self_attn.q_norm", 16) | _more(rng, "self_attn.k_norm", 8)
    for i in range(2):
        name = f"model.layers.{i}.post_feedforward_layernorm.weight"
        tensors[name] = tensors.pop(f"model.layers.{i}.input_layernorm.weight")
    return config | {"model_type": "olmo2"} | extra, tensors


def smollm3(rng, **extra):
    config, tensors = llama(rng)
    own = {"use_sliding_window": True, "sliding_window": WINDOW, "no_rope_layers": [0, 1]}
    return config | {"model_type": "smollm3"} | own | extra, tensors


def opt(rng, d=12, heads=3, width=20, layers=2, **extra):
    at = "model.decoder."
    tensors = {
        f"{at}embed_tokens.weight": rounded(rng, VOCABULARY, d),
        f"{at}embed_positions.weight": rounded(rng, LONGEST + 2, d),
    } | norms(rng, d, f"{at}final_layer_norm")
    for i in range(layers):
        inside = f"{at}layers.{i}."
        for name in ("q", "k", "v", "out"):
            tensors |= linear(rng, f"{inside}self_attn.{name}_proj", d, d)
        tensors |= norms(rng, d, f"{inside}self_attn_layer_norm", f"{inside}final_layer_norm")
        tensors |= linear(rng, f"{inside}fc1", width, d) | linear(rng, f"{inside}fc2", d, width)
    config = {"model_type": "opt", **sizes(d, heads, layers, width), "ffn_dim": width}
    del config["intermediate_size"]
    own = {"word_embed_proj_dim": d, "activation_function": "relu"}
    return config | own | extra, tensors


DECODERS = {
    "qwen2": qwen2,
    "qwen3": qwen3,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3,
    "phi3": phi3,
    "olmo2": olmo2,
    "smollm3": smollm3,
    "opt": opt,
}
