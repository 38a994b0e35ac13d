"""Refuse what a family does not read: a tensor or a setting may change what a model computes."""

from __future__ import annotations

import re
from typing import Any

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.families.common.settings import ModelSettings
from parkade.trained.families.common.take import Take

_BESIDE = re.compile(
    r"""
    ((bert|roberta|albert)\.)? pooler\..+                 # parts after the last layer,
    | (pre_)?classifier\..+ | score\.weight | qa_outputs\..+  # for other tasks than words
    | cls\.seq_relationship\..+ | sop_classifier\..+
    | (.+\.)? rotary_emb\.inv_freq                        # what follows from the settings
    | (.+\.)? embeddings\.(position_ids|token_type_ids)
    | (transformer\.)? h\.\d+\.attn\.(masked_)?bias       # the causal mask
    | (gpt_neox\.)? layers\.\d+\.attention\.(masked_)?bias
    """,
    re.VERBOSE,
)
"""Names of tensors that change neither hidden states nor logits."""

_NOTES = re.compile(
    r"""
    # where the model comes from, and how it is run or stored
    model_type | architectures | auto_map | transformers_version | dtype | torch_dtype
    | transformers\.js_config | _name_or_path | _num_labels | _commit_hash | _flash_attn_2_enabled
    | _attn_implementation(_autoset)? | use_cache | cache_implementation | pretraining_tp
    | gradient_checkpointing | torchscript | use_bfloat16 | is_llama_config
    | unsloth_(fixed|version)
    | chunk_size_feed_forward | reorder_and_upcast_attn | keys_to_ignore_at_inference
    # training and its start
    | initializer_range | init_std | layerdrop | ([a-z]+_)*dropout(_prob)? | [a-z]+_pdrop
    # other tasks, and which outputs there are
    | finetuning_task | task_specific_params | problem_type | num_labels | id2label | label2id
    | summary_[a-z_]+ | pooler_[a-z_]+ | return_dict(_in_generate)?
    | output_(attentions|hidden_states|scores|past) | layers_to_keep
    # tokens and generation
    | tokenizer_class | ([a-z]+_)+token_ids? | prefix
    | (begin_)?suppress_tokens | (max|min)_length | do_sample | early_stopping | num_beams
    | num_beam_groups | num_return_sequences | diversity_penalty | temperature | top_[kp]
    | typical_p | (repetition|length|exponential_decay_length)_penalty
    | (encoder_)?no_repeat_ngram_size | bad_words_ids | remove_invalid_values
    # sizes and choices that follow from others, or that the tensors show
    | n_ctx | directionality | net_structure_type | gap_size | num_memory_blocks
    | down_scale_factor | sinusoidal_pos_embds | tie_weights_
    """,
    re.VERBOSE,
)
"""Settings that change neither hidden states nor logits."""

_USUAL = {"partial_rotary_factor": 1.0}
"""Values of settings with which a model is what it is without them."""

_FORMS = "known are weights as numbers of 16, 32 or 64 bits, and GGUF files"


def check_quantization(settings: ModelSettings) -> None:
    """Raise if the settings say that the weights are quantised."""
    how = settings.value("quantization_config")
    if how:
        method = how.get("quant_method") if isinstance(how, dict) else how
        raise InputError(
            f"the weights are quantised (quantization_config: {check.brief(method)}), which is "
            f"unknown; {_FORMS}"
        )


def check_tensors(take: Take, kind: str) -> None:
    """Raise if there is a tensor that was not taken and is not beside the point."""
    rest = sorted(take.tensors.keys() - take.names_read)
    unknown = [name for name in rest if not _BESIDE.fullmatch(name)]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise InputError(
            f"the weights have the tensor {check.brief(unknown[0])}{more}, which a {kind} model "
            "with these settings does not use; the file may be of another architecture, or have "
            "adapters that must be merged first"
        )


def check_settings(settings: ModelSettings, kind: str) -> None:
    """Raise if there is a setting that was not read and is not a mere note."""
    for name in sorted(settings.config.keys() - settings.names_read):
        value = settings.config[name]
        harmless = _NOTES.fullmatch(name) or (name in _USUAL and value == _USUAL[name])
        if not harmless and not _absent(value):
            raise InputError(
                f"the setting {settings.inside}{check.brief(name)[1:-1]} of the model, "
                f"{check.brief(value)}, is unknown for {kind} models and may change what they "
                "compute; if it does not, delete it from config.json"
            )


def _absent(value: Any) -> bool:
    return value is None or value is False or value in ({}, [], "")
