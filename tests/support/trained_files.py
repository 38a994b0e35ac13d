"""Files of weights in every format, written by hand or by the format's own library."""

from __future__ import annotations

import json
import pickle
import struct
import zipfile
from collections import OrderedDict

import numpy as np

import parkade as pk
from support.trained import LONGEST, VOCABULARY
from support.trained_families import FAMILIES


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


def load(folder, family, seed, form="safetensors", dtype="float64", settings=(), **extra):
    """A tiny model of a family that was written and is loaded, its settings and its tensors."""
    config, tensors = FAMILIES[family](np.random.default_rng(seed), **extra)
    config |= dict(settings)
    path = write_folder(folder / f"{family}-{form}", config, tensors, form)
    return pk.trained.load(path, dtype=dtype), config, tensors


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
    inside = OrderedDict((name, _Tensor(str(i), values)) for i, (name, values) in named)
    inside._metadata = OrderedDict({"": {"version": 1}})
    pickler.dump(inside)


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
        parts = (tensors[f"model.layers.{i}.{name}.weight"] for i in range(layers))
        return b"".join(change(rows).tobytes() for rows in parts)

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


def write_gguf(path, config, tensors, kind="llama", **extra):
    """A file .gguf; `extra` has more settings, with __ for the points in their names."""
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
    writer = gguf.GGUFWriter(path, kind)
    for name, value in extra.items():
        add = writer.add_bool if isinstance(value, bool) else writer.add_uint32
        add(f"{kind}.{name.replace('__', '.')}", value)
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
        if not inside.startswith("layers."):
            writer.add_tensor(name, values)
            continue
        _, layer, part = inside.split(".", 2)
        if part.endswith(("q_proj", "k_proj")):
            which = "num_attention_heads" if part.endswith("q_proj") else "num_key_value_heads"
            values = interleaved(values, config[which])
        writer.add_tensor(f"blk.{layer}.{short.get(part, part)}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
