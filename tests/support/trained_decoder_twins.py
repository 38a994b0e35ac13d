"""Naive twins of the relatives of Llama, and of OPT: loops over tokens and heads in float64."""

from __future__ import annotations

import math

import numpy as np

from support.trained_twins import gelu_new, loop_attention, loop_norm, loop_rope


def _silu(x):
    return x / (1 + np.exp(-x))


def _parts(w, layer):
    at = f"model.layers.{layer}."
    return {name.removeprefix(at): values for name, values in w.items() if name.startswith(at)}


def _queries(p, y):
    """Queries, keys and values of tokens, without positions."""
    rows = []
    for name in "qkv":
        bias = p.get(f"self_attn.{name}_proj.bias", 0.0)
        rows.append(y @ p[f"self_attn.{name}_proj.weight"].T + bias)
    return rows


def _each_head(rows, m, gain):
    """The norm of each head of queries or keys."""
    heads = [[loop_norm(t[i : i + m], gain) for i in range(0, len(t), m)] for t in rows]
    return np.array([np.concatenate(parts) for parts in heads])


def _gated(p, y, act=_silu):
    gate, up = y @ p["mlp.gate_proj.weight"].T, y @ p["mlp.up_proj.weight"].T
    return act(gate) * up @ p["mlp.down_proj.weight"].T


def _normed(rows, gain):
    return np.array([loop_norm(t, gain) for t in rows])


def _sizes(c):
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    return heads, kv, c.get("head_dim", c["hidden_size"] // heads)


def _llama_like(c, w, ids, layer_of):
    """Embeddings, layers and logits; `layer_of` maps tokens, tensors and a number to tokens."""
    x = np.array([w["model.embed_tokens.weight"][i] for i in ids])
    hidden = [x]
    for layer in range(c["num_hidden_layers"]):
        x = layer_of(x, _parts(w, layer), layer)
        hidden.append(x)
    out = _normed(x, w["model.norm.weight"])
    return out @ w["model.embed_tokens.weight"].T, np.array(hidden)


def _pre_norm(x, p, attend, act=_silu):
    """A layer with the two norms of Llama."""
    x = x + attend(_normed(x, p["input_layernorm.weight"])) @ p["self_attn.o_proj.weight"].T
    return x + _gated(p, _normed(x, p["post_attention_layernorm.weight"]), act)


def _qwen(c, w, ids):
    heads, kv, m = _sizes(c)

    def layer_of(x, p, layer):
        slides = c.get("use_sliding_window") and layer >= c["max_window_layers"]
        window = c["sliding_window"] if slides else None

        def attend(y):
            q, k, v = _queries(p, y)
            if c["model_type"] == "qwen3":
                q = _each_head(q, m, p["self_attn.q_norm.weight"])
                k = _each_head(k, m, p["self_attn.k_norm.weight"])
            q, k = loop_rope(q, heads, m, c["rope_theta"]), loop_rope(k, kv, m, c["rope_theta"])
            return loop_attention(q, k, v, heads, kv, True, window)

        return _pre_norm(x, p, attend)

    return _llama_like(c, w, ids, layer_of)


def _scaled(w):
    """Tensors of Gemma with gains 1 + w."""
    return {name: 1 + values if values.ndim == 1 else values for name, values in w.items()}


def _gemma_like(c, w, ids, layer_of):
    x = np.array([w["model.embed_tokens.weight"][i] for i in ids]) * math.sqrt(c["hidden_size"])
    hidden, own = [x], _scaled(w)
    for layer in range(c["num_hidden_layers"]):
        x = layer_of(x, _parts(own, layer), layer)
        hidden.append(x)
    logits = _normed(x, own["model.norm.weight"]) @ w["model.embed_tokens.weight"].T
    cap = c.get("final_logit_softcapping")
    return logits if cap is None else cap * np.tanh(logits / cap), np.array(hidden)


def _gemma(c, w, ids):
    heads, kv, m = _sizes(c)

    def layer_of(x, p, layer):
        def attend(y):
            q, k, v = _queries(p, y)
            q, k = loop_rope(q, heads, m, c["rope_theta"]), loop_rope(k, kv, m, c["rope_theta"])
            return loop_attention(q, k, v, heads, kv, True)

        return _pre_norm(x, p, attend, gelu_new)

    return _gemma_like(c, w, ids, layer_of)


def _four_norms(x, p, attend):
    """A layer of Gemma 2 and 3."""
    force = attend(_normed(x, p["input_layernorm.weight"])) @ p["self_attn.o_proj.weight"].T
    x = x + _normed(force, p["post_attention_layernorm.weight"])
    force = _gated(p, _normed(x, p["pre_feedforward_layernorm.weight"]), gelu_new)
    return x + _normed(force, p["post_feedforward_layernorm.weight"])


def _gemma2(c, w, ids):
    heads, kv, m = _sizes(c)
    unit, cap = math.sqrt(c["query_pre_attn_scalar"]), c["attn_logit_softcapping"]

    def layer_of(x, p, layer):
        window = c["sliding_window"] if layer % 2 == 0 else None

        def attend(y):
            q, k, v = _queries(p, y)
            q, k = loop_rope(q, heads, m, c["rope_theta"]), loop_rope(k, kv, m, c["rope_theta"])
            return loop_attention(q, k, v, heads, kv, True, window, cap, unit)

        return _four_norms(x, p, attend)

    return _gemma_like(c, w, ids, layer_of)


def _gemma3(c, w, ids):
    heads, kv, m = _sizes(c)
    unit = math.sqrt(c["query_pre_attn_scalar"])

    def layer_of(x, p, layer):
        local = (layer + 1) % c["sliding_window_pattern"] != 0
        window = c["sliding_window"] if local else None
        base = c["rope_local_base_freq"] if local else c["rope_theta"]
        slower = 1.0 if local else c["rope_scaling"]["factor"]

        def attend(y):
            q, k, v = _queries(p, y)
            q = _each_head(q, m, p["self_attn.q_norm.weight"])
            k = _each_head(k, m, p["self_attn.k_norm.weight"])
            q, k = (loop_rope(r, h, m, base, slower) for r, h in ((q, heads), (k, kv)))
            return loop_attention(q, k, v, heads, kv, True, window, None, unit)

        return _four_norms(x, p, attend)

    return _gemma_like(c, w, ids, layer_of)


def _phi3(c, w, ids):
    heads, kv, m = _sizes(c)
    turned, width = int(m * c["partial_rotary_factor"]), c["intermediate_size"]

    def layer_of(x, p, layer):
        def attend(y):
            rows = y @ p["self_attn.qkv_proj.weight"].T
            q, k, v = np.split(rows, [heads * m, (heads + kv) * m], axis=1)
            q, k = (loop_rope(r, h, turned, c["rope_theta"]) for r, h in ((q, heads), (k, kv)))
            return loop_attention(q, k, v, heads, kv, True, c["sliding_window"])

        both = p["mlp.gate_up_proj.weight"]
        p = p | {"mlp.gate_proj.weight": both[:width], "mlp.up_proj.weight": both[width:]}
        return _pre_norm(x, p, attend)

    return _llama_like(c, w, ids, layer_of)


def _olmo2(c, w, ids):
    heads, kv, m = _sizes(c)

    def layer_of(x, p, layer):
        q, k, v = _queries(p, x)
        q = _normed(q, p["self_attn.q_norm.weight"])
        k = _normed(k, p["self_attn.k_norm.weight"])
        q, k = loop_rope(q, heads, m, c["rope_theta"]), loop_rope(k, kv, m, c["rope_theta"])
        force = loop_attention(q, k, v, heads, kv, True) @ p["self_attn.o_proj.weight"].T
        x = x + _normed(force, p["post_attention_layernorm.weight"])
        return x + _normed(_gated(p, x), p["post_feedforward_layernorm.weight"])

    return _llama_like(c, w, ids, layer_of)


def _smollm3(c, w, ids):
    heads, kv, m = _sizes(c)

    def layer_of(x, p, layer):
        def attend(y):
            q, k, v = _queries(p, y)
            window = c["sliding_window"]
            if c["no_rope_layers"][layer]:
                q, k = (loop_rope(r, h, m, c["rope_theta"]) for r, h in ((q, heads), (k, kv)))
                window = None
            return loop_attention(q, k, v, heads, kv, True, window)

        return _pre_norm(x, p, attend)

    return _llama_like(c, w, ids, layer_of)


def _opt(c, w, ids):
    heads, at = c["num_attention_heads"], "model.decoder."

    def linear(rows, name):
        return rows @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normed(rows, name):
        return np.array([loop_norm(t, w[f"{name}.weight"], w[f"{name}.bias"]) for t in rows])

    words, places = w[f"{at}embed_tokens.weight"], w[f"{at}embed_positions.weight"]
    x = np.array([words[t] + places[i + 2] for i, t in enumerate(ids)])
    hidden = [x]
    for layer in range(c["num_hidden_layers"]):
        inside = f"{at}layers.{layer}."
        y = normed(x, f"{inside}self_attn_layer_norm")
        q, k, v = (linear(y, f"{inside}self_attn.{name}_proj") for name in "qkv")
        mixed = loop_attention(q, k, v, heads, heads, True)
        x = x + linear(mixed, f"{inside}self_attn.out_proj")
        inner = np.maximum(linear(normed(x, f"{inside}final_layer_norm"), f"{inside}fc1"), 0)
        x = x + linear(inner, f"{inside}fc2")
        hidden.append(x)
    return normed(x, f"{at}final_layer_norm") @ words.T, np.array(hidden)


TWINS = {
    "qwen2": _qwen,
    "qwen3": _qwen,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "phi3": _phi3,
    "olmo2": _olmo2,
    "smollm3": _smollm3,
    "opt": _opt,
}
