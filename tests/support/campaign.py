"""Architectures and variants of Hugging Face's library, and what becomes of each of them here.

A case is exact, or refused by a sentence that names what is unknown. Models are random: no weights
are downloaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VOCABULARY, TOKENS = 101, 40
EXACT = ""
NAMED = "the architecture '{}' is unknown"
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,  # its root is exact: Hugging Face's library keeps it as float32
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "max_position_embeddings": 128,
    "pad_token_id": 1,  # one that is in the vocabulary
    "bos_token_id": 2,
    "eos_token_id": 3,
}
GROUPED = SIZES | {"num_key_value_heads": 2}
SMALL = {"vocab_size": VOCABULARY, "bos_token_id": 2, "eos_token_id": 3}
GPT2 = SMALL | {"n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 128}
OPT = SMALL | {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "ffn_dim": 80,
    "word_embed_proj_dim": 64,
    "max_position_embeddings": 128,
    "pad_token_id": 1,
}
DISTILBERT = {
    "vocab_size": VOCABULARY,
    "dim": 64,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 80,
    "max_position_embeddings": 128,
}
ALBERT = SIZES | {"embedding_size": 24, "num_hidden_layers": 4}


@dataclass(frozen=True)
class Case:
    """A variant of an architecture: its settings, and the sentence that refuses it, if any."""

    config: str
    model: str
    settings: dict[str, Any]
    refused: str = EXACT
    eager: bool = field(default=False)


def _rope(kind, **settings):
    return {"rope_parameters": {"rope_theta": 10000.0, "rope_type": kind, **settings}}


def _llama(refused=EXACT, **settings):
    return Case("LlamaConfig", "LlamaForCausalLM", SIZES | settings, refused)


def _gpt2(refused=EXACT, **settings):
    return Case("GPT2Config", "GPT2LMHeadModel", GPT2 | settings, refused)


def _neox(refused=EXACT, **settings):
    return Case("GPTNeoXConfig", "GPTNeoXForCausalLM", SIZES | settings, refused)


def _bert(refused=EXACT, model="BertForMaskedLM", **settings):
    return Case("BertConfig", model, SIZES | settings, refused)


def _albert(refused=EXACT, model="AlbertForMaskedLM", **settings):
    return Case("AlbertConfig", model, ALBERT | settings, refused)


def _roberta(model="RobertaForMaskedLM", **settings):
    return Case("RobertaConfig", model, SIZES | settings)


def _distilbert(model="DistilBertForMaskedLM", **settings):
    return Case("DistilBertConfig", model, DISTILBERT | settings)


def _opt(refused=EXACT, model="OPTForCausalLM", **settings):
    return Case("OPTConfig", model, OPT | settings, refused)


def _decoder(name, refused=EXACT, **settings):
    config = {"Gemma3": "Gemma3TextConfig"}.get(name, f"{name}Config")
    eager = name == "Gemma2"  # other implementations leave out caps of scores
    return Case(config, f"{name}ForCausalLM", GROUPED | settings, refused, eager)


def _other(name, kind, model=None, **settings):
    return Case(f"{name}Config", model or f"{name}ForCausalLM", settings, NAMED.format(kind))


YARN = _rope("yarn", factor=4.0, original_max_position_embeddings=32)
LLAMA3 = _rope(
    "llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
LONG = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8, "factor": 4.0}
LONGROPE = _rope("longrope", original_max_position_embeddings=32, **LONG)
HALF = _rope("default", partial_rotary_factor=0.5)
UNKNOWN_ROPE = "the kind of RoPE '{}' is unknown; known are 'default', 'linear', 'llama3', 'yarn'"
ACTIVATION = "the setting hidden_act of the model must be one of gelu, .*, got '{}'"

CASES = {
    "gpt2": _gpt2(),
    "gpt2 untied, n_inner, relu": _gpt2(
        tie_word_embeddings=False, n_inner=100, activation_function="relu"
    ),
    "gpt2 reorder_and_upcast_attn": _gpt2(reorder_and_upcast_attn=True),
    "gpt2 scale_attn_by_inverse_layer_idx": _gpt2(
        "scale_attn_by_inverse_layer_idx=True is unknown", scale_attn_by_inverse_layer_idx=True
    ),
    "gpt2 scale_attn_weights": _gpt2(
        "scale_attn_weights=False is unknown; known is True", scale_attn_weights=False
    ),
    "gpt2 add_cross_attention": _gpt2(
        "the setting add_cross_attention of the model, True, is unknown for gpt2 models",
        add_cross_attention=True,
    ),
    "gpt2 without head": Case("GPT2Config", "GPT2Model", GPT2),
    "llama": _llama(),
    "llama grouped, tied": _llama(num_key_value_heads=2, tie_word_embeddings=True),
    "llama one key, head_dim": _llama(num_key_value_heads=1, head_dim=20),
    "llama attention_bias": _llama(attention_bias=True),
    "llama mlp_bias": _llama(mlp_bias=True),
    "llama eps 0.01": _llama(rms_norm_eps=0.01),
    "llama eps 0": _llama(rms_norm_eps=0.0),
    "llama gelu": _llama(hidden_act="gelu"),
    "llama relu2": _llama(ACTIVATION.format("relu2"), hidden_act="relu2"),
    "llama quick_gelu": _llama(ACTIVATION.format("quick_gelu"), hidden_act="quick_gelu"),
    "llama rope llama3": _llama(**LLAMA3),
    "llama rope linear": _llama(**_rope("linear", factor=4.0)),
    "llama rope yarn": _llama(**YARN),
    "llama rope yarn, own factor": _llama(
        **_rope("yarn", factor=4.0, attention_factor=1.3, beta_fast=4.0, truncate=False)
    ),
    "llama rope yarn, mscale": _llama(
        **_rope("yarn", factor=16.0, mscale=0.7, mscale_all_dim=1.2, beta_slow=0.5)
    ),
    "llama rope dynamic": _llama(UNKNOWN_ROPE.format("dynamic"), **_rope("dynamic", factor=4.0)),
    "llama rope longrope": _llama(UNKNOWN_ROPE.format("longrope"), **LONGROPE),
    "llama rope proportional": _llama(
        UNKNOWN_ROPE.format("proportional"), **_rope("proportional", partial_rotary_factor=0.5)
    ),
    "llama partial_rotary_factor": _llama(
        "the setting rope_parameters.partial_rotary_factor of the model, 0.5, is unknown", **HALF
    ),
    "llama without head": Case("LlamaConfig", "LlamaModel", SIZES),
    "llama classifier": Case("LlamaConfig", "LlamaForSequenceClassification", SIZES),
    "mistral": _decoder("Mistral", sliding_window=None),
    "mistral window": _decoder("Mistral", sliding_window=16),
    "mistral wide window": _decoder("Mistral", sliding_window=64),
    "qwen2": _decoder("Qwen2"),
    "qwen2 tied": _decoder("Qwen2", tie_word_embeddings=True),
    "qwen2 windows": _decoder(
        "Qwen2", use_sliding_window=True, sliding_window=16, max_window_layers=1
    ),
    "qwen2 yarn": _decoder("Qwen2", **YARN),
    "neox": _neox(),
    "neox serial, half, base 500": _neox(
        use_parallel_residual=False, rotary_pct=0.5, rotary_emb_base=500
    ),
    "neox whole, tied": _neox(rotary_pct=1.0, tie_word_embeddings=True),
    "neox without biases": _neox(attention_bias=False),
    "neox gelu_fast": _neox(hidden_act="gelu_fast"),
    "neox rope linear": _neox(**_rope("linear", factor=4.0, partial_rotary_factor=0.5)),
    "neox odd planes": _neox("an even number of axes, got 3, .* rotary_pct", rotary_pct=0.2),
    "bert": _bert(),
    "bert without head": _bert(model="BertModel"),
    "bert untied": _bert(tie_word_embeddings=False),
    "bert of pretraining": _bert(model="BertForPreTraining"),
    "bert is_decoder": _bert(model="BertLMHeadModel", is_decoder=True),
    "bert is_decoder without head": _bert(model="BertModel", is_decoder=True),
    "bert add_cross_attention": _bert(
        "add_cross_attention=True is unknown",
        model="BertLMHeadModel",
        is_decoder=True,
        add_cross_attention=True,
    ),
    "bert gelu_new": _bert(hidden_act="gelu_new"),
    "bert one type": _bert(type_vocab_size=1),
    "bert classifier": _bert(model="BertForSequenceClassification"),
    "albert": _albert(),
    "albert untied": _albert(tie_word_embeddings=False),
    "albert of pretraining": _albert(model="AlbertForPreTraining"),
    "albert 2 groups, without head": _albert(model="AlbertModel", num_hidden_groups=2),
    "albert 5 layers, 2 groups": _albert(num_hidden_layers=5, num_hidden_groups=2),
    "albert inner_group_num": _albert("inner_group_num=2 is unknown", inner_group_num=2),
    "qwen3": _decoder("Qwen3", head_dim=16),
    "qwen3 biases, windows, yarn": _decoder(
        "Qwen3",
        head_dim=20,
        attention_bias=True,
        use_sliding_window=True,
        sliding_window=16,
        max_window_layers=2,
        **YARN,
    ),
    "gemma": _decoder("Gemma", head_dim=16),
    "gemma biases, not tied": _decoder(
        "Gemma", head_dim=16, attention_bias=True, tie_word_embeddings=False, num_key_value_heads=1
    ),
    "gemma2": _decoder("Gemma2", head_dim=16, sliding_window=16),
    "gemma2 scale, small caps": _decoder(
        "Gemma2",
        head_dim=20,
        sliding_window=16,
        query_pre_attn_scalar=64,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=20.0,
        attention_bias=True,
    ),
    "gemma2 without caps": _decoder(
        "Gemma2", attn_logit_softcapping=None, final_logit_softcapping=None, head_dim=16
    ),
    "gemma2 use_bidirectional_attention": _decoder(
        "Gemma2", "the setting use_bidirectional_attention of the model, True, is unknown",
        use_bidirectional_attention=True, head_dim=16,
    ),
    "gemma3": _decoder("Gemma3", head_dim=16, sliding_window=16, num_hidden_layers=7),
    "gemma3 linear, mixed layers": _decoder(
        "Gemma3",
        head_dim=16,
        sliding_window=16,
        query_pre_attn_scalar=64,
        layer_types=["full_attention", "sliding_attention", "full_attention"],
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    ),
    "phi3": _decoder("Phi3"),
    "phi3 window, some axes": _decoder("Phi3", sliding_window=16, **HALF),
    "phi3 longrope": _decoder(
        "Phi3", "Phi-3 with rope_type='longrope' is unknown; known is 'default'", **LONGROPE
    ),
    "olmo2": _decoder("Olmo2"),
    "olmo2 biases, yarn": _decoder("Olmo2", attention_bias=True, **YARN),
    "smollm3": _decoder("SmolLM3", num_hidden_layers=5),
    "smollm3 biases, windows": _decoder(
        "SmolLM3",
        attention_bias=True,
        mlp_bias=True,
        use_sliding_window=True,
        sliding_window=16,
        no_rope_layers=[1, 0, 0],
        tie_word_embeddings=False,
    ),
    "opt": _opt(),
    "opt gelu, not tied": _opt(activation_function="gelu", tie_word_embeddings=False),
    "opt without head": _opt(model="OPTModel"),
    "opt do_layer_norm_before": _opt(
        "do_layer_norm_before=False is unknown", do_layer_norm_before=False
    ),
    "opt word_embed_proj_dim": _opt("word_embed_proj_dim=32 is unknown", word_embed_proj_dim=32),
    "opt _remove_final_layer_norm": _opt(
        "_remove_final_layer_norm=True is unknown", _remove_final_layer_norm=True
    ),
    "opt enable_bias": _opt("enable_bias=False is unknown", enable_bias=False),
    "roberta": _roberta(),
    "roberta untied, other padding": _roberta(tie_word_embeddings=False, pad_token_id=5),
    "roberta padding 0, relu": _roberta(pad_token_id=0, hidden_act="relu"),
    "roberta decoder": _roberta(model="RobertaForCausalLM", is_decoder=True),
    "roberta classifier": _roberta(model="RobertaForSequenceClassification"),
    "xlm-roberta": Case("XLMRobertaConfig", "XLMRobertaForMaskedLM", SIZES),
    "camembert": Case("CamembertConfig", "CamembertForMaskedLM", SIZES),
    "distilbert": _distilbert(),
    "distilbert untied, relu": _distilbert(activation="relu", tie_word_embeddings=False),
    "distilbert sinusoidal_pos_embds": _distilbert(sinusoidal_pos_embds=True),
    "distilbert classifier": _distilbert(model="DistilBertForSequenceClassification"),
    "phi": _other("Phi", "phi", **SIZES),
    "gptj": _other("GPTJ", "gptj", **GPT2, rotary_dim=8),
    "gpt_neo": _other(
        "GPTNeo", "gpt_neo", **SMALL, hidden_size=64, num_layers=2, num_heads=4,
        attention_types=[[["global", "local"], 1]],
    ),
    "bloom": _other("Bloom", "bloom", **SMALL, hidden_size=64, n_layer=3, n_head=4),
    "falcon": _other(
        "Falcon", "falcon", **SMALL, hidden_size=64, num_hidden_layers=3, num_attention_heads=4
    ),
    "stablelm": _other("StableLm", "stablelm", **GROUPED),
    "mixtral": _other("Mixtral", "mixtral", **GROUPED, num_local_experts=4),
    "granite": _other("Granite", "granite", **GROUPED, residual_multiplier=0.5),
    "starcoder2": _other("Starcoder2", "starcoder2", **GROUPED),
    "mamba": _other("Mamba", "mamba", **SMALL, hidden_size=64, num_hidden_layers=2, state_size=8),
    "gpt_oss": _other("GptOss", "gpt_oss", **GROUPED, head_dim=16, num_local_experts=4),
    "electra": _other("Electra", "electra", "ElectraModel", **SIZES, embedding_size=24),
    "deberta": _other("DebertaV2", "deberta-v2", "DebertaV2Model", **SIZES),
    "modernbert": _other(
        "ModernBert", "modernbert", "ModernBertForMaskedLM", **SIZES, cls_token_id=2, sep_token_id=3
    ),
    "t5": _other(
        "T5", "t5", "T5ForConditionalGeneration", vocab_size=VOCABULARY, d_model=64, d_ff=80,
        num_layers=2, num_heads=4, d_kv=16,
    ),
    "vit": _other("ViT", "vit", "ViTModel", hidden_size=64, num_hidden_layers=2, image_size=32,
                  num_attention_heads=4, intermediate_size=80, patch_size=8),
}  # fmt: skip
"""Each case by its name."""
