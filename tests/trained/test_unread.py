"""What is in a file is used, or known to be beside the point, or refused by its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import campaign
from support import trained as tiny
from support import trained_families as families
from support import trained_files as written

import parkade as pk
from parkade.trained.families.registry import FAMILIES

IDS = [3, 1, 4, 1, 5, 9, 2, 6]


def made(family, **extra):
    return families.FAMILIES[family](np.random.default_rng(7), **extra)


def close(folder, config, tensors):
    """The model in a folder agrees with its naive twin."""
    reading = pk.trained.load(written.write_folder(folder, config, tensors), dtype="float64").read(
        IDS
    )
    logits, hidden = families.naive(config, tensors, IDS)
    np.testing.assert_allclose(reading.hidden, hidden, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(reading.logits, logits, rtol=1e-10, atol=1e-10)


def refused(folder, config, tensors, words):
    written.write_folder(folder, config, tensors)
    with pytest.raises(pk.InputError, match=words) as caught:
        pk.trained.load(folder)
    assert "\n" not in str(caught.value)


def test_biases_of_llama(tmp_path):
    close(tmp_path, *made("llama", biases=True))


@pytest.mark.parametrize("flag", ["attention_bias", "mlp_bias"])
def test_biases_that_settings_deny_are_refused(tmp_path, flag):
    config, tensors = made("llama", biases=True)
    words = r"the tensor 'model\.layers\.0\.(self_attn|mlp)\..*\.bias' and \d+ more"
    refused(tmp_path, config | {flag: False}, tensors, words)
    refused(tmp_path, *made("llama", **{flag: True}), "have no tensor model.layers.0.*bias")


def test_bert_as_decoder_sees_no_later_tokens(tmp_path):
    config, tensors = made("bert", is_decoder=True)
    close(tmp_path, config, tensors)
    model = pk.trained.load(tmp_path)
    assert model.causal
    assert not np.triu(model.read(IDS, attention=True).attention, 1).any()
    refused(tmp_path, config | {"add_cross_attention": True}, tensors, "add_cross_attention=True")


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_heads_that_are_not_tied(tmp_path, family):
    """Their unembedding and its bias are their own; `predictions.bias` has no effect."""
    at, e = {"bert": ("cls.predictions.", 12), "albert": ("predictions.", 8)}[family]
    config, tensors = made(family)
    close(tmp_path, config, tensors)
    more = tiny.untied(np.random.default_rng(1), tensors, at, e)
    close(tmp_path, config | {"tie_word_embeddings": False}, more)
    refused(
        tmp_path, config | {"tie_word_embeddings": False}, tensors, "no tensor .*decoder.weight"
    )


def test_copies_of_tied_tensors(tmp_path):
    """Old files have them. They may not differ from what they are tied to."""
    for family, name, source in (
        ("llama", "lm_head.weight", "model.embed_tokens.weight"),
        ("gpt2", "lm_head.weight", "wte.weight"),
        ("bert", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
        ("bert", "cls.predictions.decoder.bias", "cls.predictions.bias"),
        ("albert", "predictions.decoder.bias", "predictions.bias"),
    ):
        config, tensors = made(family)
        close(tmp_path, config, tensors | {name: tensors[source].copy()})
        written.write_folder(tmp_path, config, tensors | {name: tensors[source] + 1})
        words = rf"the tensor {name} is not equal .* tie_word_embeddings"
        with pytest.raises(pk.InputError, match=words):
            pk.trained.load(tmp_path).read(IDS)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_tensors_that_nothing_uses_are_refused(tmp_path, family):
    config, tensors = made(family)
    for name in (
        "model.layers.0.self_attn.v_norm.weight",
        "model.layers.9.self_attn.q_proj.weight",
        "base_model.model.layers.0.lora_A.weight",
        "unheard_of",
    ):
        extra = {name: np.ones((2, 3), np.float32)}
        refused(tmp_path, config, tensors | extra, f"the weights have the tensor '{name}', which a")


def test_tensors_of_other_tasks_have_no_effect(tmp_path):
    for family, names in {
        "llama": ["score.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"],
        "gpt2": ["h.0.attn.bias", "h.1.attn.masked_bias"],
        "neox": ["gpt_neox.layers.0.attention.bias", "gpt_neox.layers.1.attention.masked_bias"],
        "bert": ["bert.pooler.dense.weight", "classifier.bias", "cls.seq_relationship.weight"],
        "albert": ["albert.pooler.weight", "sop_classifier.classifier.weight"],
    }.items():
        config, tensors = made(family)
        close(tmp_path, config, tensors | {name: np.ones(5, np.float32) for name in names})


@pytest.mark.parametrize("family", families.FAMILIES)
def test_settings_that_nothing_reads_are_refused(tmp_path, family):
    config, tensors = made(family)
    for name, value in {
        "residual_multiplier": 0.5,
        "rope_local_theta": 5e5,
        "use_qk_norm": True,
        "pruned_heads": {"0": [1]},
        "is_encoder_decoder": True,
        "moe_layers": [1, 0],
    }.items():
        words = f"the setting {name} of the model, .*, is unknown for {config['model_type']} models"
        refused(tmp_path, config | {name: value}, tensors, words)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_notes_in_the_settings_have_no_effect(tmp_path, family):
    notes = {
        "torch_dtype": "bfloat16",
        "hidden_dropout_prob": 0.1,
        "attn_pdrop": 0.1,
        "bos_token_id": 3,
        "pruned_heads": {},
        "use_qk_norm": None,
        "use_mrope": False,
    }
    config, tensors = made(family)
    close(tmp_path, notes | config, tensors)


def test_quantised_weights_are_refused(tmp_path):
    config, tensors = made("llama")
    how = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    words = r"quantised \(quantization_config: 'bitsandbytes'\).*known are .* GGUF"
    refused(tmp_path, config | {"quantization_config": how}, tensors, words)
    name = "model.layers.0.mlp.up_proj.weight"
    rounded = tensors | {name: np.rint(tensors[name] * 64).astype(np.int8)}
    from safetensors.numpy import save_file

    written.write_folder(tmp_path, config, tensors)
    save_file(rounded, tmp_path / "model.safetensors")
    with pytest.raises(pk.InputError, match=f"the tensor {name} has whole numbers, as quantised"):
        pk.trained.load(tmp_path)


def test_settings_of_rope_are_read_or_refused(tmp_path):
    config, tensors = made("llama")

    def rope(**settings):
        return config | {"rope_parameters": settings}

    close(tmp_path, config | {"partial_rotary_factor": 1.0}, tensors)
    refused(tmp_path, config | {"partial_rotary_factor": 0.5}, tensors, "partial_rotary_factor")
    refused(tmp_path, rope(factor=2.0), tensors, "rope_parameters.factor of the model, 2.0, is unk")
    refused(tmp_path, rope(rope_type="linear"), tensors, "rope_parameters.factor of the model must")
    words = "rope_parameters.mrope_section of the model, .* is unknown for RoPE 'default'"
    refused(tmp_path, rope(mrope_section=[1, 2, 3]), tensors, words)
    both = rope(rope_type="linear", factor=2.0) | {
        "rope_scaling": {"type": "linear", "factor": 4.0}
    }
    refused(tmp_path, both, tensors, "rope_parameters and rope_scaling of the model differ")


@pytest.mark.parametrize("family", ["llama", "gpt2", "neox", "bert", "albert"])
def test_norms_without_eps(tmp_path, family):
    name = families.eps_name(family)
    config, tensors = made(family)
    model = pk.trained.load(written.write_folder(tmp_path, config | {name: 0.0}, tensors))
    assert model.block(0).norms[0].eps == 0
    refused(
        tmp_path,
        config | {name: -1e-5},
        tensors,
        f"{name} of the model must be a number ≥ 0 and below 1",
    )


def test_windows(tmp_path):
    """Tokens far apart do not see each other, and texts may be longer than the window."""
    close(tmp_path, *made("mistral", sliding_window=3))
    weights = pk.trained.load(tmp_path).read(IDS, attention=True).attention
    near = np.tri(8, dtype=bool) & ~np.tri(8, k=-3, dtype=bool)
    assert (weights[:, :, near] > 0).all()
    assert not weights[:, :, ~near].any()
    close(tmp_path, *made("mistral", sliding_window=None))
    config, tensors = made("mistral", sliding_window=0)
    refused(tmp_path, config, tensors, "sliding_window of the model must be a whole number from 1")
    refused(
        tmp_path, *made("llama", sliding_window=3), "the setting sliding_window of the model, 3"
    )


def test_settings_and_tensors_of_gguf_are_read_or_refused(tmp_path):
    config, tensors = made("llama")
    path = tmp_path / "model.gguf"
    same = {"vocab_size": 19, "rope__dimension_count": 4, "attention__value_length": 4}
    written.write_gguf(path, config, tensors, **same, expert_count=0)
    logits, _ = families.naive(config, tensors, IDS)
    reading = pk.trained.load(path, dtype="float64").read(IDS)
    np.testing.assert_allclose(reading.logits, logits, rtol=1e-6, atol=1e-6)  # eps is a float32
    for name, value in {
        "attention__sliding_window": 4,
        "attention__causal": False,
        "rope__dimension_count": 2,
        "expert_count": 8,
    }.items():
        written.write_gguf(path, config, tensors, **{name: value})
        words = f"has the setting {name.replace('__', '.')} = {value}, which is unknown in GGUF"
        with pytest.raises(pk.InputError, match=words):
            pk.trained.load(path)
    for name in ("model.layers.0.attn_q_norm.weight", "rope_freqs.weight", "cls.output.weight"):
        written.write_gguf(path, config, tensors | {name: np.ones(4, np.float32)})
        words = "frequencies of RoPE" if "freqs" in name else f"the tensor '{name}', which a llama"
        with pytest.raises(pk.InputError, match=words):
            pk.trained.load(path)
    for kind in ("qwen2", "qwen3", "gemma2", "gemma3", "phi3", "olmo2", "smollm3"):
        written.write_gguf(path, config, tensors, kind)
        words = f"has the architecture '{kind}'; of GGUF files, known are llama; .* folder"
        with pytest.raises(pk.InputError, match=words):
            pk.trained.load(path)


@pytest.mark.parametrize("family", families.CAUSAL)
def test_masks_that_are_not_causal_are_refused(tmp_path, family):
    config, tensors = made(family)
    refused(tmp_path, config | {"is_causal": False}, tensors, "with is_causal=False is unknown")
    written.write_folder(tmp_path, config | {"is_causal": True}, tensors)
    assert pk.trained.load(tmp_path).causal


def test_roberta_gives_padding_no_place(tmp_path):
    """The places of later tokens do not count it."""
    config, tensors = made("roberta")
    model = pk.trained.load(written.write_folder(tmp_path, config, tensors), dtype="float64")
    ids = [3, 1, 4, 1, 1, 5]
    hidden = families.naive(config, tensors, ids)[1]
    np.testing.assert_allclose(model.read(ids).hidden, hidden, rtol=1e-10, atol=1e-10)
    assert model.shape.longest == 14
    with pytest.raises(pk.InputError, match="reads at most 14 tokens, got 15"):
        model.read([3] * 15)


def test_settings_of_rope_and_windows_that_make_no_sense_are_refused(tmp_path):
    config, tensors = made("llama")
    yarn = {"rope_type": "yarn", "factor": 8.0, "rope_theta": 1.0}
    refused(tmp_path, config | {"rope_parameters": yarn}, tensors, "rope_theta .* > 1 for YaRN")
    three = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 2, "high_freq_factor": 2}
    words = "high_freq_factor of the model must be larger than low_freq_factor, 2, got 2"
    refused(tmp_path, config | {"rope_parameters": three}, tensors, words)
    refused(tmp_path, config | {"rope_scaling": [1]}, tensors, "rope_scaling .* must be an object")
    config, tensors = made("phi3", partial_rotary_factor=1.5)
    refused(tmp_path, config, tensors, "partial_rotary_factor of the model must be at most 1")
    config, tensors = made("gemma2")
    for kinds, words in {
        ("sliding_attention",): "layer_types of the model must be a list of 2 values, one per",
        ("chunked_attention",) * 2: "layers of the kind 'chunked_attention' are unknown",
    }.items():
        refused(tmp_path, config | {"layer_types": list(kinds)}, tensors, words)
    other = {"layer_types": ["sliding_attention"] * 2, "sliding_window": None}
    refused(tmp_path, config | other, tensors, "layer 0 has a window, but sliding_window or use_")
    refused(tmp_path, *made("qwen2", use_sliding_window="no"), "must be true or false, got 'no'")


def test_yarn_scales_scores(tmp_path):
    """With all planes fast the model is that of plain RoPE, but for scores.

    These have the square of the factor 1 + ln(s)/10, which follows from s if it is not in the
    settings.
    """
    config, tensors = made("llama")

    def attention(**rope):
        settings = config | {"rope_parameters": {"rope_theta": 1e4, **rope}}
        model = pk.trained.load(written.write_folder(tmp_path, settings, tensors), dtype="float64")
        return model.read(IDS, attention=True).attention[0]

    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2**23}
    plain = attention(rope_type="default")
    np.testing.assert_allclose(attention(**yarn, attention_factor=1.0), plain, rtol=1e-12)
    power = plain ** ((1 + np.log(8) / 10) ** 2)
    np.testing.assert_allclose(attention(**yarn), power / power.sum(-1, keepdims=True), rtol=1e-9)


def test_the_page_names_every_architecture():
    """And counts the variants that are compared with Hugging Face's library."""
    page = (Path(__file__).parents[2] / "docs" / "trained.md").read_text(encoding="utf-8")
    table = page[page.index("| `model_type`") : page.index("RoPE may be plain")]
    for family in FAMILIES:
        for kind in family.types:
            assert f"`{kind}`" in table
    exact = sum(not case.refused for case in campaign.CASES.values())
    others = len(campaign.CASES) - exact
    assert f"for {exact} variants, the sentences for {others} others" in " ".join(page.split())
