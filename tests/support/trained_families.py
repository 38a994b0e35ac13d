"""All tiny models of trained families, and their naive twins."""

from __future__ import annotations

import numpy as np

from support import trained, trained_decoder_twins, trained_twins
from support.trained_decoders import DECODERS

FAMILIES = {
    "llama": trained.llama,
    "mistral": trained.mistral,
    "gpt2": trained.gpt2,
    "neox": trained.neox,
    "bert": trained.bert,
    "roberta": trained.roberta,
    "distilbert": trained.distilbert,
    "albert": trained.albert,
    **DECODERS,
}
CAUSAL = ("llama", "mistral", "gpt2", "neox", *DECODERS)
FOREIGN = {
    "qwen3": "norms of queries and keys",
    "gemma2": "norms after its attention and its MLP",
    "gemma3_text": "norms after its attention and its MLP",
    "olmo2": "norms after its attention and its MLP",
}
"""Families with layers that parkade does not have, and what they have."""

FLOWS = sorted(set(FAMILIES) - set(FOREIGN))
_TWINS = trained_twins.TWINS | trained_decoder_twins.TWINS


def naive(config, tensors, ids):
    """Logits of every token, and tokens before the first layer and after each."""
    w = {name: np.asarray(values, np.float64) for name, values in tensors.items()}
    return _TWINS[config["model_type"]](config, w, ids)


def eps_name(family):
    """The setting of the number that is added under the root of norms, if there is one."""
    config = FAMILIES[family](np.random.default_rng(0))[0]
    return next((name for name in config if "eps" in name), None)
