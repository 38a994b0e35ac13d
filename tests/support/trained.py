"""Tiny random models in the names of Hugging Face, files of every format, and naive twins."""

from __future__ import annotations

import json
import math
import pickle
import struct
import zipfile
from collections import OrderedDict

import numpy as np
from scipy.special import erf

VOCABULARY, LONGEST = 19, 16


def rounded(rng, *shape):
    """Random multiples of 1/64 up to 1, which are exact in bfloat16 and float16."""
    return (np.clip(np.rint(26 * rng.standard_normal(shape)), -63, 63) / 64).astype(np.float32)


def llama(rng, d=16, heads=4, kv=2, width=24, layers=2, **extra):
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
    tensors |= {"model.norm.weight": 1 + rounded(rng, d)}
    config = {
        "model_type": "llama",
        "hidden_size": d,
        "intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LONGEST,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
    }
    return config | extra, tensors


def gpt2(rng, d=12, heads=3, layers=2):
    tensors = {"wte.weight": rounded(rng, VOCABULARY, d), "wpe.weight": rounded(rng, LONGEST, d)}
    for i in range(layers):
        at = f"h.{i}."
        tensors |= _norms(rng, d, f"{at}ln_1", f"{at}ln_2")
        for name, rows, columns in (
            ("attn.c_attn", d, 3 * d),
            ("attn.c_proj", d, d),
            ("mlp.c_fc", d, 4 * d),
            ("mlp.c_proj", 4 * d, d),
        ):
            tensors[f"{at}{name}.weight"] = rounded(rng, rows, columns)
            tensors[f"{at}{name}.bias"] = rounded(rng, columns)
    tensors |= _norms(rng, d, "ln_f")
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
        tensors |= _norms(rng, d, f"{at}input_layernorm", f"{at}post_attention_layernorm")
        tensors |= _linear(rng, f"{at}attention.query_key_value", 3 * d, d)
        tensors |= _linear(rng, f"{at}attention.dense", d, d)
        tensors |= _linear(rng, f"{at}mlp.dense_h_to_4h", width, d)
        tensors |= _linear(rng, f"{at}mlp.dense_4h_to_h", d, width)
    tensors |= _norms(rng, d, "gpt_neox.final_layer_norm")
    config = {
        "model_type": "gpt_neox",
        "hidden_size": d,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LONGEST,
        "rotary_pct": 0.5,
        "rotary_emb_base": 10000,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "use_parallel_residual": True,
        "tie_word_embeddings": False,
    }
    return config | extra, tensors


def bert(rng, d=12, heads=3, width=20, layers=2):
    tensors = _embeddings(rng, "bert.embeddings.", d)
    for i in range(layers):
        at = f"bert.encoder.layer.{i}."
        for name in ("query", "key", "value"):
            tensors |= _linear(rng, f"{at}attention.self.{name}", d, d)
        tensors |= _linear(rng, f"{at}attention.output.dense", d, d)
        tensors |= _norms(rng, d, f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm")
        tensors |= _linear(rng, f"{at}intermediate.dense", width, d)
        tensors |= _linear(rng, f"{at}output.dense", d, width)
    at = "cls.predictions."
    tensors |= _linear(rng, f"{at}transform.dense", d, d)
    tensors |= _norms(rng, d, f"{at}transform.LayerNorm")
    tensors[f"{at}bias"] = rounded(rng, VOCABULARY)
    config = {
        "model_type": "bert",
        "hidden_size": d,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LONGEST,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    return config, tensors


def albert(rng, d=12, heads=3, width=20, layers=4, groups=2, e=8):
    tensors = _embeddings(rng, "albert.embeddings.", e)
    tensors |= _linear(rng, "albert.encoder.embedding_hidden_mapping_in", d, e)
    for i in range(groups):
        at = f"albert.encoder.albert_layer_groups.{i}.albert_layers.0."
        for name in ("query", "key", "value", "dense"):
            tensors |= _linear(rng, f"{at}attention.{name}", d, d)
        tensors |= _norms(rng, d, f"{at}attention.LayerNorm", f"{at}full_layer_layer_norm")
        tensors |= _linear(rng, f"{at}ffn", width, d)
        tensors |= _linear(rng, f"{at}ffn_output", d, width)
    tensors |= _linear(rng, "predictions.dense", e, d)
    tensors |= _norms(rng, e, "predictions.LayerNorm")
    tensors["predictions.bias"] = rounded(rng, VOCABULARY)
    config = bert(rng, d, heads, width, layers)[0] | {
        "model_type": "albert",
        "embedding_size": e,
        "num_hidden_groups": groups,
        "inner_group_num": 1,
        "hidden_act": "gelu_new",
    }
    return config, tensors


FAMILIES = {"llama": llama, "gpt2": gpt2, "neox": neox, "bert": bert, "albert": albert}


def _norms(rng, d, *names):
    found = {}
    for name in names:
        found[f"{name}.weight"], found[f"{name}.bias"] = 1 + rounded(rng, d), rounded(rng, d)
    return found


def _linear(rng, name, rows, columns):
    return {f"{name}.weight": rounded(rng, rows, columns), f"{name}.bias": rounded(rng, rows)}


def _embeddings(rng, at, e):
    return {
        f"{at}word_embeddings.weight": rounded(rng, VOCABULARY, e),
        f"{at}position_embeddings.weight": rounded(rng, LONGEST, e),
        f"{at}token_type_embeddings.weight": rounded(rng, 2, e),
        **_norms(rng, e, f"{at}LayerNorm"),
    }


# Files.


def write_folder(folder, config, tensors, form="safetensors"):
    """A folder of Hugging Face's, with weights in one of several forms."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if form == "safetensors":
        write_safetensors(folder / "model.safetensors", tensors)
    elif form in ("bfloat16", "float16"):
        write_safetensors(folder / "model.safetensors", tensors, form)
    elif form == "shards":
        names, places = sorted(tensors), {}
        for i in range(2):
            file = f"model-0000{i + 1}-of-00002.safetensors"
            write_safetensors(folder / file, {name: tensors[name] for name in names[i::2]})
            places |= dict.fromkeys(names[i::2], file)
        index = folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": places}))
    else:
        write = {"zip": write_zip, "legacy": write_legacy}[form]
        write(folder / "pytorch_model.bin", tensors)
    return folder


def write_safetensors(path, tensors, dtype="float32"):
    from safetensors.numpy import save_file

    if dtype == "bfloat16":  # which NumPy does not have
        header, data = {}, b""
        for name, values in tensors.items():
            numbers = (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
            offsets = [len(data), len(data) + len(numbers)]
            header[name] = {"dtype": "BF16", "shape": values.shape, "data_offsets": offsets}
            data += numbers
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    else:
        save_file({name: values.astype(dtype) for name, values in tensors.items()}, path)


class _Name:
    """A name that pickle writes as a global of PyTorch."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Storage:
    def __init__(self, key, values):
        self.key, self.values = key, values


class _Tensor:
    def __init__(self, key, values):
        self.key, self.values = key, values


class _Pickler(pickle._Pickler):
    """Writes tensors as PyTorch does."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def persistent_id(self, thing):
        if isinstance(thing, _Storage):
            kind = _Name("torch", "FloatStorage")
            extra = (None,) if self.legacy else ()
            return ("storage", kind, thing.key, "cpu", thing.values.size, *extra)
        return None

    def save_name(self, thing):
        self.write(pickle.GLOBAL + f"{thing.module}\n{thing.name}\n".encode())

    def save_tensor(self, thing):
        values = thing.values
        strides = tuple(step // values.itemsize for step in values.strides)
        self.save(_Name("torch._utils", "_rebuild_tensor_v2"))
        inside = (_Storage(thing.key, values), 0, values.shape, strides, False, OrderedDict())
        self.save(inside)
        self.write(pickle.REDUCE)

    dispatch[_Name] = save_name
    dispatch[_Tensor] = save_tensor


def _pickled(stream, tensors, legacy):
    pickler = _Pickler(stream, 2)
    pickler.legacy = legacy
    named = enumerate(tensors.items())
    pickler.dump(OrderedDict((name, _Tensor(str(i), values)) for i, (name, values) in named))


def write_zip(path, tensors):
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("archive/data.pkl", "w") as stream:
            _pickled(stream, tensors, False)
        for i, values in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{i}", values.tobytes())


def write_legacy(path, tensors):
    with path.open("wb") as stream:
        for small in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(small, stream, 2)
        _pickled(stream, tensors, True)
        pickle.dump([str(i) for i in range(len(tensors))], stream, 2)
        for values in tensors.values():
            stream.write(struct.pack("<q", values.size) + values.tobytes())


def interleaved(rows, heads):
    """Rows of queries or keys from planes (i, i + m/2) to (2i, 2i + 1), row by row."""
    m = len(rows) // heads
    out = np.empty_like(rows)
    for h in range(heads):
        for i in range(m // 2):
            out[h * m + 2 * i] = rows[h * m + i]
            out[h * m + 2 * i + 1] = rows[h * m + i + m // 2]
    return out


def write_llama2c(path, config, tensors, pieces=()):
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    names += ("num_key_value_heads", "vocab_size", "max_position_embeddings")
    d, _, layers, heads, kv, _, longest = sizes = [config[name] for name in names]

    def each(name, change=lambda rows: rows):
        found = (tensors[f"model.layers.{i}.{name}.weight"] for i in range(layers))
        return b"".join(change(rows).tobytes() for rows in found)

    data = struct.pack("<7i", *sizes) + tensors["model.embed_tokens.weight"].tobytes()
    data += each("input_layernorm")
    data += each("self_attn.q_proj", lambda rows: interleaved(rows, heads))
    data += each("self_attn.k_proj", lambda rows: interleaved(rows, kv))
    for name in ("self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm"):
        data += each(name)
    for name in ("mlp.gate_proj", "mlp.down_proj", "mlp.up_proj"):
        data += each(name)
    data += tensors["model.norm.weight"].tobytes() + bytes(4 * longest * (d // heads))
    if pieces:
        data += struct.pack("<i", max(len(piece) for piece, _ in pieces))
        for piece, score in pieces:
            data += struct.pack("<fi", score, len(piece)) + piece
    path.write_bytes(data)
    return path


def write_gguf(path, config, tensors):
    import gguf

    short = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(LONGEST)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    words = ["<|endoftext|>", "a", "b", "c", "Ġ", "1", "2", "ab", "Ġc", "abc"]
    writer.add_token_list(words + [f"<{i}>" for i in range(VOCABULARY - len(words))])
    writer.add_token_types([3, *[1] * (VOCABULARY - 1)])
    writer.add_token_merges(["a b", "Ġ c", "ab c"])
    ends = {"embed_tokens": "token_embd", "norm": "output_norm"}
    for name, values in tensors.items():
        inside = name.removeprefix("model.").removesuffix(".weight")
        if inside in ends:
            writer.add_tensor(f"{ends[inside]}.weight", values)
            continue
        _, layer, part = inside.split(".", 2)
        if part.endswith(("q_proj", "k_proj")):
            which = "num_attention_heads" if part.endswith("q_proj") else "num_key_value_heads"
            values = interleaved(values, config[which])
        writer.add_tensor(f"blk.{layer}.{short[part]}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# Naive twins: loops over tokens and heads in float64, straight from the tensors of the file.


def naive(config, tensors, ids):
    """Logits of every token, and tokens before the first layer and after each."""
    w = {name: np.asarray(values, np.float64) for name, values in tensors.items()}
    return _NAIVE[config["model_type"]](config, w, ids)


def _norm(x, gain, bias=None, eps=1e-5):
    centre = 0.0 if bias is None else sum(x) / len(x)
    spread = sum((x - centre) ** 2) / len(x)
    scaled = (x - centre) / math.sqrt(spread + eps) * gain
    return scaled if bias is None else scaled + bias


def _attention(queries, keys, values, heads, kv, causal):
    """Outputs of all heads, one after the other, for each token."""
    n, m = len(queries), len(queries[0]) // heads
    out = np.zeros((n, heads * m))
    for h in range(heads):
        g = h * kv // heads
        for i in range(n):
            seen = range(i + 1) if causal else range(n)
            q = queries[i][h * m : h * m + m]
            scores = [q @ keys[j][g * m : g * m + m] / math.sqrt(m) for j in seen]
            top = max(scores)
            shares = [math.exp(s - top) for s in scores]
            for j, share in zip(seen, shares, strict=True):
                part = share / sum(shares) * values[j][g * m : g * m + m]
                out[i, h * m : h * m + m] += part
    return out


def _rope(rows, heads, size, base):
    """RoPE of planes (i, i + size/2) in the first `size` axes of each head."""
    out = np.array(rows)
    m = rows.shape[1] // heads
    for place in range(len(rows)):
        for h in range(heads):
            for i in range(size // 2):
                a, b = h * m + i, h * m + i + size // 2
                angle = place * base ** (-2 * i / size)
                c, s = math.cos(angle), math.sin(angle)
                x, y = rows[place, a], rows[place, b]
                out[place, a], out[place, b] = x * c - y * s, x * s + y * c
    return out


def _gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def _gelu_new(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _naive_llama(c, w, ids):
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    m = c["hidden_size"] // heads
    x = [w["model.embed_tokens.weight"][i] for i in ids]
    hidden = [np.array(x)]
    for layer in range(c["num_hidden_layers"]):
        p = {k.split(f"layers.{layer}.")[1]: v for k, v in w.items() if f"layers.{layer}." in k}
        y = np.array([_norm(t, p["input_layernorm.weight"]) for t in x])
        q, k, v = (y @ p[f"self_attn.{name}_proj.weight"].T for name in "qkv")
        q, k = _rope(q, heads, m, c["rope_theta"]), _rope(k, kv, m, c["rope_theta"])
        x = x + _attention(q, k, v, heads, kv, True) @ p["self_attn.o_proj.weight"].T
        y = np.array([_norm(t, p["post_attention_layernorm.weight"]) for t in x])
        gate = y @ p["mlp.gate_proj.weight"].T
        inner = gate / (1 + np.exp(-gate)) * (y @ p["mlp.up_proj.weight"].T)
        x = x + inner @ p["mlp.down_proj.weight"].T
        hidden.append(x)
    out = np.array([_norm(t, w["model.norm.weight"]) for t in x])
    return out @ w["model.embed_tokens.weight"].T, np.array(hidden)


def _naive_gpt2(c, w, ids):
    d = c["n_embd"]
    x = np.array([w["wte.weight"][t] + w["wpe.weight"][i] for i, t in enumerate(ids)])
    hidden = [x]
    for layer in range(c["n_layer"]):
        p = {k.removeprefix(f"h.{layer}."): v for k, v in w.items() if k.startswith(f"h.{layer}.")}
        y = np.array([_norm(t, p["ln_1.weight"], p["ln_1.bias"]) for t in x])
        both = y @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"]
        q, k, v = both[:, :d], both[:, d : 2 * d], both[:, 2 * d :]
        mixed = _attention(q, k, v, c["n_head"], c["n_head"], True)
        x = x + mixed @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
        y = np.array([_norm(t, p["ln_2.weight"], p["ln_2.bias"]) for t in x])
        inner = _gelu_new(y @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"])
        x = x + inner @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]
        hidden.append(x)
    out = np.array([_norm(t, w["ln_f.weight"], w["ln_f.bias"]) for t in x])
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
            return np.array([_norm(t, p[f"{name}.weight"], p[f"{name}.bias"]) for t in rows])

        def linear(rows, name, p=p):
            return rows @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        both = linear(normed(x, "input_layernorm"), "attention.query_key_value")
        split = [[both[:, (3 * h + j) * m : (3 * h + j + 1) * m] for h in range(heads)]
                 for j in range(3)]  # fmt: skip
        q, k, v = (np.hstack(parts) for parts in split)
        size = int(m * c["rotary_pct"])
        q, k = (_rope(rows, heads, size, c["rotary_emb_base"]) for rows in (q, k))
        force = linear(_attention(q, k, v, heads, heads, True), "attention.dense")
        seen = x if c["use_parallel_residual"] else x + force
        inner = _gelu(linear(normed(seen, "post_attention_layernorm"), "mlp.dense_h_to_4h"))
        x = x + force + linear(inner, "mlp.dense_4h_to_h")
        hidden.append(x)
    name = "gpt_neox.final_layer_norm"
    out = np.array([_norm(t, w[f"{name}.weight"], w[f"{name}.bias"]) for t in x])
    return out @ w["embed_out.weight"].T, np.array(hidden)


def _encoder(c, w, ids, root, names, gelu):
    """Embeddings and layers of BERT and ALBERT; `names` says where a layer has its tensors."""
    heads, eps = c["num_attention_heads"], c["layer_norm_eps"]

    def normed(rows, name):
        return np.array([_norm(t, w[f"{name}.weight"], w[f"{name}.bias"], eps) for t in rows])

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
        mixed = linear(_attention(q, k, v, heads, heads, False), out)
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

    x, hidden, normed, linear, words = _encoder(c, w, ids, "bert", names, _gelu)
    y = normed(_gelu(linear(x, "cls.predictions.transform.dense")),
               "cls.predictions.transform.LayerNorm")  # fmt: skip
    return y @ words.T + w["cls.predictions.bias"], hidden


def _naive_albert(c, w, ids):
    def names(layer):
        group = int(layer / (c["num_hidden_layers"] / c["num_hidden_groups"]))
        at = f"albert.encoder.albert_layer_groups.{group}.albert_layers.0."
        attention = (f"{at}attention.", f"{at}attention.dense", f"{at}attention.LayerNorm")
        return *attention, f"{at}ffn", f"{at}ffn_output", f"{at}full_layer_layer_norm"

    x, hidden, normed, linear, words = _encoder(c, w, ids, "albert", names, _gelu_new)
    y = normed(_gelu_new(linear(x, "predictions.dense")), "predictions.LayerNorm")
    return y @ words.T + w["predictions.bias"], hidden


_NAIVE = {
    "llama": _naive_llama,
    "gpt2": _naive_gpt2,
    "gpt_neox": _naive_neox,
    "bert": _naive_bert,
    "albert": _naive_albert,
}
