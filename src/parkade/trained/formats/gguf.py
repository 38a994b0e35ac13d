"""Files .gguf, with quantised weights, which the library `gguf` turns into numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.trained.formats.gguf_header import Described, Header
from parkade.trained.formats.source import Source, Stored, mapped
from parkade.trained.pieces import Pieces
from parkade.trained.tokens import Library, Tokenizer, library

_KNOWN = ("llama",)
_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_ENDS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_SETTINGS = {
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
}
_CONTROL = 3  # the type of a token that is no text


def read(path: Path) -> Source:
    """The contents of a file; no tensor is read yet."""
    try:
        import gguf
    except ImportError:
        raise InputError(
            f"{path} is a GGUF file, which needs the library gguf: pip install 'parkade[trained]'"
        ) from None
    memory = mapped(path)
    metadata, described, start = Header(memory.data).read()
    get = metadata.get
    kind = get("general.architecture")
    if kind not in _KNOWN:
        raise InputError(
            f"{path} has the architecture {kind!r}; of GGUF files, known are {', '.join(_KNOWN)}"
        )
    if get(f"{kind}.rope.scaling.type") not in (None, "none"):
        raise InputError(f"{path} has a RoPE that is scaled, which is unknown in GGUF files")
    found = {new: get(f"{kind}.{old}") for old, new in _SETTINGS.items()}
    config = {name: value for name, value in found.items() if value is not None}
    tensors = {_name(t.name): _stored(gguf, memory, t, start) for t in described}
    if "unused.rope_freqs.weight" in tensors:
        raise InputError(f"{path} has frequencies of RoPE as a tensor, which are unknown")
    if "model.embed_tokens.weight" not in tensors:
        raise InputError(f"{path} has no tensor token_embd.weight")
    config |= {
        "model_type": "llama",
        "vocab_size": tensors["model.embed_tokens.weight"].shape[0],
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "rope_interleaved": True,  # queries and keys of these files are stored so
    }
    return Source(get("general.name") or path.stem, config, tensors, _tokenizer(get))


def _name(name: str) -> str:
    """The name of a tensor as Hugging Face's Llama has it."""
    stem, _, end = name.rpartition(".")
    if stem.startswith("blk."):
        _, layer, part = stem.split(".", 2)
        return f"model.layers.{layer}.{_NAMES.get(part, part)}.{end}"
    return f"{_ENDS.get(stem, 'unused.' + stem)}.{end}"


def _stored(gguf: Any, memory: NDArray[np.uint8], tensor: Described, start: int) -> Stored:
    """A tensor; `start` is where the numbers of all begin."""
    kind = gguf.GGMLQuantizationType(tensor.kind)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    if not tensor.shape or tensor.shape[-1] % block:
        raise ValueError(f"the tensor {tensor.name} does not consist of blocks of {block}")
    first = start + tensor.offset
    last = first + math.prod(tensor.shape) // block * size
    if last > len(memory):
        raise ValueError(f"the tensor {tensor.name} reaches beyond the end of the file")

    def numbers() -> NDArray[np.float32]:
        rows = memory[first:last].reshape(*tensor.shape[:-1], -1)
        found: NDArray[np.float32] = gguf.dequantize(rows, kind)
        return found.reshape(tensor.shape)

    return Stored(tensor.shape, numbers)


def _tokenizer(get: Callable[[str], Any]) -> Tokenizer | None:
    """The tokenizer in the metadata, if it is of a known kind."""
    kind, pieces = get("tokenizer.ggml.model"), get("tokenizer.ggml.tokens")
    if pieces is None:
        return None
    begin, types = get("tokenizer.ggml.bos_token_id"), get("tokenizer.ggml.token_type") or []
    if kind == "llama":
        texts = tuple(piece.replace("▁", " ").encode() for piece in pieces)
        return Pieces(texts, tuple(get("tokenizer.ggml.scores")), 1 if begin is None else begin)
    split = _splits().get(get("tokenizer.ggml.pre") or "default")
    if kind != "gpt2" or split is None:
        return None
    lib = library()
    merges = [tuple(pair.split(" ", 1)) for pair in get("tokenizer.ggml.merges") or []]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    inner = lib.Tokenizer(lib.models.BPE(vocab=vocabulary, merges=merges))
    inner.pre_tokenizer, inner.decoder = split, lib.decoders.ByteLevel()
    special = [piece for piece, kind in zip(pieces, types, strict=False) if kind == _CONTROL]
    inner.add_special_tokens(special)
    first = bool(get("tokenizer.ggml.add_bos_token")) and begin is not None
    return Library(inner, (begin,) if first else ())


def _splits() -> dict[str, Any]:
    """How text is cut before pairs are joined."""
    make = library().pre_tokenizers
    bytes_only = make.ByteLevel(add_prefix_space=False, use_regex=True)
    digits = make.Sequence([make.Digits(individual_digits=True), bytes_only])
    return {"default": bytes_only, "gpt-2": bytes_only, "smollm": digits}
