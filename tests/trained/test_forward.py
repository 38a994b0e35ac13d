"""Forward passes of all architectures and formats, against naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from support import trained as tiny
from support import trained_families as families
from support import trained_files as written

import parkade as pk
from parkade.trained import forward
from parkade.trained.families.common import gated
from parkade.trained.families.common.settings import ModelSettings

IDS = [3, 1, 4, 1, 5, 9, 2, 6]


def made(tmp_path, family, *form, **options):
    return written.load(tmp_path, family, 7, *form, **options)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_forward_pass_equals_loops(tmp_path, family):
    model, config, tensors = made(tmp_path, family)
    logits, hidden = families.naive(config, tensors, IDS)
    reading = model.read(IDS)
    assert model.family == family
    np.testing.assert_allclose(reading.hidden, hidden, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(reading.logits, logits, rtol=1e-10, atol=1e-10)


def test_sequential_neox_equals_loops(tmp_path):
    model, config, tensors = made(tmp_path, "neox", use_parallel_residual=False)
    _, hidden = families.naive(config, tensors, IDS)
    np.testing.assert_allclose(model.read(IDS).hidden, hidden, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_float32_is_close(tmp_path, family):
    model, config, tensors = made(tmp_path, family, dtype="float32")
    reading = model.read(IDS)
    logits, _ = families.naive(config, tensors, IDS)
    assert reading.hidden.dtype == reading.logits.dtype == np.float32
    assert np.abs(reading.logits - logits).max() < 1e-4 * np.abs(logits).max()


@pytest.mark.parametrize("form", ["bfloat16", "float16", "shards", "zip", "legacy"])
def test_same_weights_in_every_form(tmp_path, form):
    model, _, _ = made(tmp_path, "bert", form)
    reference, _, _ = made(tmp_path, "bert")
    for part in ("q", "k", "v", "o", "bq"):
        one, other = (getattr(m.block(1).attention, part) for m in (model, reference))
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.read(IDS).logits, reference.read(IDS).logits)


@pytest.mark.parametrize("form", ["gguf", "llama2c"])
def test_llama_in_other_formats(tmp_path, form):
    config, tensors = tiny.llama(np.random.default_rng(7))
    reference = pk.trained.load(
        written.write_folder(tmp_path / "hf", config, tensors), dtype="float64"
    )
    write = written.write_gguf if form == "gguf" else written.write_llama2c
    model = pk.trained.load(write(tmp_path / f"model.{form}", config, tensors), dtype="float64")
    expected, reading = reference.read(IDS), model.read(IDS)
    np.testing.assert_allclose(reading.logits, expected.logits, rtol=1e-7, atol=1e-7)
    x = pk.sphere.uniform(6, model.d, seed=1)
    np.testing.assert_allclose(
        model.layer(1).velocity(x), reference.layer(1).velocity(x), rtol=1e-6, atol=1e-9
    )


def test_gguf_quantised(tmp_path):
    """Q8_0 rounds to 1/254 of the largest of 32 entries; blocks must land in their places."""
    import gguf

    rng = np.random.default_rng(1)
    values = rng.standard_normal((4, 64)).astype(np.float32)
    writer = gguf.GGUFWriter(tmp_path / "q.gguf", "llama")
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("token_embd.weight", gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    from parkade.trained.formats import gguf as ours

    tensor = ours.read(tmp_path / "q.gguf").tensors["model.embed_tokens.weight"]
    assert tensor.shape == (4, 64)
    assert np.abs(tensor.read() - values).max() < np.abs(values).max() / 250


def test_tiles_do_not_matter(tmp_path, monkeypatch):
    for family, tile in (("llama", 1), ("bert", 1), ("mistral", 1), ("mistral", 5 * 4 * 8)):
        model, _, _ = made(tmp_path, family)
        whole = model.read(IDS, attention=True)
        monkeypatch.setattr(forward, "TILE", tile)
        np.testing.assert_allclose(model.read(IDS).hidden, whole.hidden, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(whole.attention_of(1), whole.attention[1])
        monkeypatch.undo()
        np.testing.assert_allclose(whole.attention.sum(axis=-1), 1.0)
        np.testing.assert_allclose(model.read(IDS).attention_of(-1), whole.attention[-1])


def test_causal_models_do_not_look_ahead(tmp_path):
    for family in families.CAUSAL:
        model, _, _ = made(tmp_path, family)
        other = [*IDS[:5], 7, 8, 0]
        same = model.read(IDS).hidden[:, :5], model.read(other).hidden[:, :5]
        np.testing.assert_allclose(*same, rtol=1e-12, atol=1e-12)
        assert not np.triu(model.read(IDS, attention=True).attention, 1).any()


def test_loss_is_that_of_the_logits(tmp_path):
    model, _, _ = made(tmp_path, "gpt2")
    reading = model.read(IDS)
    p = np.exp(reading.logits) / np.exp(reading.logits).sum(axis=1, keepdims=True)
    each = [-np.log(p[i, IDS[i + 1]]) for i in range(len(IDS) - 1)]
    np.testing.assert_allclose(reading.losses, each)
    assert reading.loss == pytest.approx(np.mean(each))
    assert made(tmp_path, "bert")[0].read(IDS).loss is None


def turns(settings, size=64):
    """The angles per place by settings of RoPE."""
    limit = {"max_position_embeddings": 8192}
    return gated.rope_of(ModelSettings(limit | settings), size).turns


def test_rope_of_llama3_and_linear():
    """Fast planes keep their angles, slow ones are slowed by the factor."""
    plain = turns({"rope_theta": 5e5})
    three = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    slowed = turns({"rope_theta": 5e5, "rope_scaling": three})
    assert slowed[0] == plain[0]
    assert slowed[-1] == pytest.approx(plain[-1] / 8)
    assert (np.diff(slowed) < 0).all()
    linear = {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5}
    np.testing.assert_allclose(turns({"rope_parameters": linear}), plain / 4)
    with pytest.raises(pk.InputError, match="the kind of RoPE 'dynamic' is unknown; known are"):
        turns({"rope_scaling": {"type": "dynamic"}})


def test_rope_of_yarn():
    """A plane that turns β times within the training is at an end of the ramp, for β = 32 and 1."""
    plain = turns({"rope_theta": 1e4})
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096}
    slowed = plain / turns({"rope_theta": 1e4, "rope_scaling": yarn})
    rotations = 4096 * plain / (2 * np.pi)
    first, last = np.flatnonzero(rotations > 32)[-1], np.flatnonzero(rotations < 1)[0]
    np.testing.assert_allclose(slowed[: first + 1], 1.0)
    np.testing.assert_allclose(slowed[last:], 8.0)
    np.testing.assert_allclose(np.diff(1 / slowed[first : last + 1], 2), 0.0, atol=1e-12)
    assert (np.diff(slowed[first : last + 1]) > 0).all()
    assert last - first > 8
