"""The files of llama2.c: seven numbers, float32 weights, and perhaps a tokenizer behind them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from parkade.trained.formats.source import Source, Stored, mapped, stored
from parkade.trained.pieces import Pieces

_HEADER = 28  # bytes
_TABLE = "a table of cosines or sines, which follow from the sizes"


def is_one(start: bytes, size: int) -> bool:
    """Whether a file of this size that begins so is one: its sizes must fit its length."""
    if len(start) < _HEADER:
        return False
    d, width, layers, heads, kv, vocabulary, longest = np.frombuffer(start[:_HEADER], "<i4")
    small = (0 < x < 2**20 for x in (d, width, layers, heads, kv, abs(int(vocabulary)), longest))
    if not all(small) or d % heads or heads % kv:
        return False
    return size >= _HEADER + 4 * sum(math.prod(s) for _, s in _layout(_sizes(start)))


def read(path: Path, start: bytes) -> Source:
    """The contents of a file."""
    memory = mapped(path)
    sizes = _sizes(start)
    d, width, layers, heads, kv, vocabulary, longest = sizes
    tensors: dict[str, Stored] = {}
    place = _HEADER
    for names, shape in _layout(sizes):
        each = math.prod(shape[1:]) if "{}" in names else math.prod(shape)
        for i in range(shape[0] if "{}" in names else 1):
            inner = shape[1:] if "{}" in names else shape
            if names != _TABLE:
                tensors[names.format(i)] = stored(memory, "F32", inner, place)
            place += 4 * each
    config = {
        "model_type": "llama",
        "hidden_size": d,
        "intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": abs(vocabulary),
        "max_position_embeddings": longest,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": vocabulary > 0,
        "rope_interleaved": True,
    }
    tokenizer = None
    beside = path.with_name("tokenizer.bin")
    if place < len(memory):
        tokenizer = Pieces.from_bytes(memory[place:].tobytes(), abs(vocabulary))
    elif beside.is_file():
        tokenizer = Pieces.from_bytes(beside.read_bytes(), abs(vocabulary))
    return Source(path.stem, config, tensors, tokenizer)


def _sizes(start: bytes) -> list[int]:
    return [int(x) for x in np.frombuffer(start[:_HEADER], "<i4")]


def _layout(sizes: list[int]) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes in the order of the file; {} stands for the number of a layer."""
    d, width, layers, heads, kv, vocabulary, longest = sizes
    inner = kv * (d // heads)
    each = "model.layers.{}."
    layout: list[tuple[str, tuple[int, ...]]] = [
        ("model.embed_tokens.weight", (abs(vocabulary), d)),
        (each + "input_layernorm.weight", (layers, d)),
        (each + "self_attn.q_proj.weight", (layers, d, d)),
        (each + "self_attn.k_proj.weight", (layers, inner, d)),
        (each + "self_attn.v_proj.weight", (layers, inner, d)),
        (each + "self_attn.o_proj.weight", (layers, d, d)),
        (each + "post_attention_layernorm.weight", (layers, d)),
        (each + "mlp.gate_proj.weight", (layers, width, d)),
        (each + "mlp.down_proj.weight", (layers, d, width)),
        (each + "mlp.up_proj.weight", (layers, width, d)),
        ("model.norm.weight", (d,)),
        (_TABLE, (longest, d // heads // 2)),
        (_TABLE, (longest, d // heads // 2)),
    ]
    if vocabulary < 0:
        layout.append(("lm_head.weight", (-vocabulary, d)))
    return layout
