"""Files .gguf, with quantised weights, which the library `gguf` turns into numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.formats.gguf_header import Described, Header
from parkade.trained.formats.source import Source, Stored, mapped
from parkade.trained.library import LibraryTokenizer
from parkade.trained.pieces import Pieces
from parkade.trained.tokens import Tokenizer

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
_PER_HEAD = ("attention.value_length", "rope.dimension_count")  # known if each is that of keys
_NOTES = ("vocab_size", "tensor_data_layout")
_SPLITS = ("default", "gpt-2", "smollm")  # known ways to cut text before pairs are joined
_NAME = 100  # characters of the name of a model
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
            f"{path} has the architecture {check.brief(kind)}; of GGUF files, known are "
            f"{', '.join(_KNOWN)}; load its folder of Hugging Face's instead"
        )
    if get(f"{kind}.rope.scaling.type") not in (None, "none"):
        raise InputError(f"{path} has a RoPE that is scaled, which is unknown in GGUF files")
    own = {
        name.removeprefix(f"{kind}."): value
        for name, value in metadata.items()
        if name.startswith(f"{kind}.")
    }
    config = {new: own[old] for old, new in _SETTINGS.items() if own.get(old) is not None}
    _check(path, own)
    tensors = {_name(t.name): _stored(gguf, memory, t, start) for t in described}
    if "rope_freqs.weight" in tensors:
        raise InputError(f"{path} has frequencies of RoPE as a tensor, which are unknown")
    if "model.embed_tokens.weight" not in tensors:
        raise InputError(f"{path} has no tensor token_embd.weight")
    config |= {
        "model_type": "llama",
        "vocab_size": tensors["model.embed_tokens.weight"].shape[0],
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "rope_interleaved": True,  # queries and keys of these files are stored so
    }
    name = get("general.name")
    if not isinstance(name, str) or not 0 < len(name) <= _NAME or not name.isprintable():
        name = path.stem
    return Source(name, config, tensors, _tokenizer(get))


def _name(name: str) -> str:
    """The name of a tensor as Hugging Face's Llama has it."""
    stem, _, end = name.rpartition(".")
    if stem.startswith("blk."):
        _, layer, part = stem.split(".", 2)
        return f"model.layers.{layer}.{_NAMES.get(part, part)}.{end}"
    return f"{_ENDS.get(stem, stem)}.{end}"


def _check(path: Path, own: dict[str, Any]) -> None:
    """Raise if there is a setting that is unknown and may change what the model computes."""
    keys = own.get("attention.key_length")
    d, heads = own.get("embedding_length"), own.get("attention.head_count")
    if keys is None and isinstance(d, int) and isinstance(heads, int) and heads > 0:
        keys = d // heads
    for name, value in sorted(own.items()):
        plain = name in _SETTINGS or name in _NOTES or (name in _PER_HEAD and value == keys)
        none = value in (None, 0, "", []) and value is not False
        if not none and not plain and name != "rope.scaling.type":
            raise InputError(
                f"{path} has the setting {name} = {check.brief(value)}, which is unknown in GGUF "
                "files and may change what the model computes"
            )


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
        values: NDArray[np.float32] = gguf.dequantize(rows, kind)
        return values.reshape(tensor.shape)

    return Stored(tensor.shape, numbers)


def _tokenizer(get: Callable[[str], Any]) -> Tokenizer | None:
    """The tokenizer in the metadata, if it is of a known kind."""
    kind, pieces = get("tokenizer.ggml.model"), get("tokenizer.ggml.tokens")
    if pieces is None:
        return None
    begin, types = get("tokenizer.ggml.bos_token_id"), get("tokenizer.ggml.token_type") or []
    if begin is not None and type(begin) is not int:
        raise ValueError(f"the id that begins a text is {check.brief(begin)}")
    if kind == "llama":
        texts = tuple(piece.replace("▁", " ").encode() for piece in pieces)
        return Pieces(texts, tuple(get("tokenizer.ggml.scores")), 1 if begin is None else begin)
    split = get("tokenizer.ggml.pre") or "default"
    if kind != "gpt2" or split not in _SPLITS:
        return None
    arguments = {
        "pieces": pieces,
        "merges": [pair.split(" ", 1) for pair in get("tokenizer.ggml.merges") or []],
        "digits": split == "smollm",
        "special": [piece for piece, kind in zip(pieces, types, strict=False) if kind == _CONTROL],
    }
    added = begin is not None and get("tokenizer.ggml.add_bos_token")
    first: tuple[Any, ...] = (begin,) if added else ()
    return LibraryTokenizer("pieces", arguments, first)
