"""Naive twins of forward passes: loops over tokens and heads in float64, from a file's tensors."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf


def loop_norm(x, gain, bias=None, eps=1e-5):
    centre = 0.0 if bias is None else sum(x) / len(x)
    spread = sum((x - centre) ** 2) / len(x)
    scaled = (x - centre) / math.sqrt(spread + eps) * gain
    return scaled if bias is None else scaled + bias


def loop_attention(queries, keys, values, heads, kv, causal, window=None, cap=None, unit=None):
    """Outputs of all heads, one after the other, for each token; scores are divided by `unit`."""
    n, m = len(queries), len(queries[0]) // heads
    unit = unit or math.sqrt(m)
    out = np.zeros((n, heads * m))
    for h in range(heads):
        g = h * kv // heads
        for i in range(n):
            seen = range(i + 1) if causal else range(n)
            seen = [j for j in seen if window is None or i - j < window]
            q = queries[i][h * m : h * m + m]
            scores = [q @ keys[j][g * m : g * m + m] / unit for j in seen]
            if cap is not None:
                scores = [cap * math.tanh(s / cap) for s in scores]
            top = max(scores)
            shares = [math.exp(s - top) for s in scores]
            for j, share in zip(seen, shares, strict=True):
                part = share / sum(shares) * values[j][g * m : g * m + m]
                out[i, h * m : h * m + m] += part
    return out


def loop_rope(rows, heads, size, base, slower=1.0):
    """RoPE of planes (i, i + size/2) in the first `size` axes of each head."""
    out = np.array(rows)
    m = rows.shape[1] // heads
    for place in range(len(rows)):
        for h in range(heads):
            for i in range(size // 2):
                a, b = h * m + i, h * m + i + size // 2
                angle = place * base ** (-2 * i / size) / slower
                c, s = math.cos(angle), math.sin(angle)
                x, y = rows[place, a], rows[place, b]
                out[place, a], out[place, b] = x * c - y * s, x * s + y * c
    return out


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def gelu_new(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _naive_llama(c, w, ids):
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    m, window = c["hidden_size"] // heads, c.get("sliding_window")
    x = [w["model.embed_tokens.weight"][i] for i in ids]
    hidden = [np.array(x)]
    for layer in range(c["num_hidden_layers"]):
        p = {k.split(f"layers.{layer}.")[1]: v for k, v in w.items() if f"layers.{layer}." in k}

        def linear(rows, name, p=p):
            return rows @ p[f"{name}_proj.weight"].T + p.get(f"{name}_proj.bias", 0.0)

        y = np.array([loop_norm(t, p["input_layernorm.weight"]) for t in x])
        q, k, v = (linear(y, f"self_attn.{name}") for name in "qkv")
        q, k = loop_rope(q, heads, m, c["rope_theta"]), loop_rope(k, kv, m, c["rope_theta"])
        x = x + linear(loop_attention(q, k, v, heads, kv, True, window), "self_attn.o")
        y = np.array([loop_norm(t, p["post_attention_layernorm.weight"]) for t in x])
        gate = linear(y, "mlp.gate")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, "mlp.up"), "mlp.down")
        hidden.append(x)
    out = np.array([loop_norm(t, w["model.norm.weight"]) for t in x])
    return out @ w["model.embed_tokens.weight"].T, np.array(hidden)


def _naive_gpt2(c, w, ids):
    d = c["n_embd"]
    x = np.array([w["wte.weight"][t] + w["wpe.weight"][i] for i, t in enumerate(ids)])
    hidden = [x]
    for layer in range(c["n_layer"]):
        p = {k.removeprefix(f"h.{layer}."): v for k, v in w.items() if k.startswith(f"h.{layer}.")}
        y = np.array([loop_norm(t, p["ln_1.weight"], p["ln_1.bias"]) for t in x])
        both = y @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"]
        q, k, v = both[:, :d], both[:, d : 2 * d], both[:, 2 * d :]
        mixed = loop_attention(q, k, v, c["n_head"], c["n_head"], True)
        x = x + mixed @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
        y = np.array([loop_norm(t, p["ln_2.weight"], p["ln_2.bias"]) for t in x])
        inner = gelu_new(y @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"])
        x = x + inner @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]
        hidden.append(x)
    out = np.array([loop_norm(t, w["ln_f.weight"], w["ln_f.bias"]) for t in x])
    return out @ w["wte.weight"].T, np.array(hidden)


def _naive_neox(c, w, ids):
    heads, d = c["num_attention_heads"], c["hidden_size"]
    m = d // heads
    x = np.array([w["gpt_neox.embed_in.weight"][t] for t in ids])
    hidden = [x]
    for layer in range(c["num_hidden_layers"]):
        at = f"gpt_neox.layers.{layer}."
        p = {k.removeprefix(at): v for k, v in w.items() if k.startswith(at)}

        def normed(rows, name, p=p):
            return np.array([loop_norm(t, p[f"{name}.weight"], p[f"{name}.bias"]) for t in rows])

        def linear(rows, name, p=p):
            return rows @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        both = linear(normed(x, "input_layernorm"), "attention.query_key_value")
        split = [[both[:, (3 * h + j) * m : (3 * h + j + 1) * m] for h in range(heads)]
                 for j in range(3)]  # fmt: skip
        q, k, v = (np.hstack(parts) for parts in split)
        size = int(m * c["rotary_pct"])
        q, k = (loop_rope(rows, heads, size, c["rotary_emb_base"]) for rows in (q, k))
        force = linear(loop_attention(q, k, v, heads, heads, True), "attention.dense")
        seen = x if c["use_parallel_residual"] else x + force
        inner = gelu(linear(normed(seen, "post_attention_layernorm"), "mlp.dense_h_to_4h"))
        x = x + force + linear(inner, "mlp.dense_4h_to_h")
        hidden.append(x)
    name = "gpt_neox.final_layer_norm"
    out = np.array([loop_norm(t, w[f"{name}.weight"], w[f"{name}.bias"]) for t in x])
    return out @ w["embed_out.weight"].T, np.array(hidden)


def _encoder(c, w, ids, root, names, gelu):
    """Embeddings and layers of BERT and ALBERT; `names` says where a layer has its tensors."""
    heads, eps = c["num_attention_heads"], c["layer_norm_eps"]

    def normed(rows, name):
        return np.array([loop_norm(t, w[f"{name}.weight"], w[f"{name}.bias"], eps) for t in rows])

    def linear(rows, name):
        return rows @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    at = f"{root}.embeddings."
    words, places = w[f"{at}word_embeddings.weight"], w[f"{at}position_embeddings.weight"]
    kind = w[f"{at}token_type_embeddings.weight"][0]
    x = np.array([words[t] + places[i] + kind for i, t in enumerate(ids)])
    x = normed(x, f"{at}LayerNorm")
    if f"{root}.encoder.embedding_hidden_mapping_in.weight" in w:
        x = linear(x, f"{root}.encoder.embedding_hidden_mapping_in")
    hidden = [x]
    for layer in range(c["num_hidden_layers"]):
        inside, out, first, up, down, second = names(layer)
        q, k, v = (linear(x, f"{inside}{name}") for name in ("query", "key", "value"))
        mixed = linear(loop_attention(q, k, v, heads, heads, c.get("is_decoder", False)), out)
        x = normed(x + mixed, first)
        x = normed(x + linear(gelu(linear(x, up)), down), second)
        hidden.append(x)
    return x, np.array(hidden), normed, linear, words


def _naive_bert(c, w, ids):
    def names(layer):
        at = f"bert.encoder.layer.{layer}."
        attention = (f"{at}attention.self.", f"{at}attention.output.dense")
        first, second = f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"
        return *attention, first, f"{at}intermediate.dense", f"{at}output.dense", second

    x, hidden, normed, linear, words = _encoder(c, w, ids, "bert", names, gelu)
    y = normed(gelu(linear(x, "cls.predictions.transform.dense")),
               "cls.predictions.transform.LayerNorm")  # fmt: skip
    return _masks(c, w, y, words, "cls.predictions."), hidden


def _naive_albert(c, w, ids):
    def names(layer):
        group = int(layer / (c["num_hidden_layers"] / c["num_hidden_groups"]))
        at = f"albert.encoder.albert_layer_groups.{group}.albert_layers.0."
        attention = (f"{at}attention.", f"{at}attention.dense", f"{at}attention.LayerNorm")
        return *attention, f"{at}ffn", f"{at}ffn_output", f"{at}full_layer_layer_norm"

    x, hidden, normed, linear, words = _encoder(c, w, ids, "albert", names, gelu_new)
    y = normed(gelu_new(linear(x, "predictions.dense")), "predictions.LayerNorm")
    return _masks(c, w, y, words, "predictions."), hidden


def _masks(c, w, y, words, at):
    if c.get("tie_word_embeddings", True):
        return y @ words.T + w[f"{at}bias"]
    return y @ w[f"{at}decoder.weight"].T + w[f"{at}decoder.bias"]


def _naive_roberta(c, w, ids):
    """BERT's, with places that begin behind the padding, which stands on its own place."""
    places, count = [], c["pad_token_id"]
    for t in ids:
        count += t != c["pad_token_id"]
        places.append(c["pad_token_id"] if t == c["pad_token_id"] else count)
    w = dict(w)
    name = "roberta.embeddings.position_embeddings.weight"
    w[name] = np.array([w[name][place] for place in places])

    def names(layer):
        at = f"roberta.encoder.layer.{layer}."
        inside = (f"{at}attention.self.", f"{at}attention.output.dense")
        first, second = f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"
        return *inside, first, f"{at}intermediate.dense", f"{at}output.dense", second

    x, hidden, normed, linear, words = _encoder(c, w, ids, "roberta", names, gelu)
    y = normed(gelu(linear(x, "lm_head.dense")), "lm_head.layer_norm")
    return _masks(c, w, y, words, "lm_head."), hidden


def _naive_distilbert(c, w, ids):
    heads = c["n_heads"]

    def linear(rows, name):
        return rows @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normed(rows, name):
        gain, bias = w[f"{name}.weight"], w[f"{name}.bias"]
        return np.array([loop_norm(t, gain, bias, 1e-12) for t in rows])

    at = "distilbert.embeddings."
    words, places = w[f"{at}word_embeddings.weight"], w[f"{at}position_embeddings.weight"]
    x = normed([words[t] + places[i] for i, t in enumerate(ids)], f"{at}LayerNorm")
    hidden = [x]
    for layer in range(c["n_layers"]):
        at = f"distilbert.transformer.layer.{layer}."
        q, k, v = (linear(x, f"{at}attention.{name}_lin") for name in "qkv")
        mixed = linear(loop_attention(q, k, v, heads, heads, False), f"{at}attention.out_lin")
        x = normed(x + mixed, f"{at}sa_layer_norm")
        inner = linear(gelu(linear(x, f"{at}ffn.lin1")), f"{at}ffn.lin2")
        x = normed(x + inner, f"{at}output_layer_norm")
        hidden.append(x)
    y = normed(gelu(linear(x, "vocab_transform")), "vocab_layer_norm")
    return y @ words.T + w["vocab_projector.bias"], np.array(hidden)


TWINS = {
    "llama": _naive_llama,
    "mistral": _naive_llama,
    "roberta": _naive_roberta,
    "distilbert": _naive_distilbert,
    "gpt2": _naive_gpt2,
    "gpt_neox": _naive_neox,
    "bert": _naive_bert,
    "albert": _naive_albert,
}
