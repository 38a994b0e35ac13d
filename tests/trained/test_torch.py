"""Forward passes and `measure` with transformers and PyTorch, where these are installed."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk

IDS = [3, 1, 4, 1, 5, 9, 2, 6]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 50,
    "max_position_embeddings": 64,
}
MODELS = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", SIZES | {"num_key_value_heads": 2}),
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 50, "n_positions": 64},
    ),
    "neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", SIZES),
    "bert": ("BertForMaskedLM", "BertConfig", SIZES),
    "albert": ("AlbertForMaskedLM", "AlbertConfig", SIZES | {"embedding_size": 16}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["safetensors", "zip", "legacy"])
@pytest.mark.parametrize("family", MODELS)
def test_logits_and_hidden_states(tmp_path, family, form):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model_class, config_class, sizes = MODELS[family]
    torch.manual_seed(1)
    config = getattr(transformers, config_class)(**sizes)
    model = getattr(transformers, model_class)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        theirs = model(torch.tensor([IDS]), output_hidden_states=True)
    model.save_pretrained(tmp_path)
    if form != "safetensors":
        (tmp_path / "model.safetensors").unlink()
        modern = form == "zip"
        file = tmp_path / "pytorch_model.bin"
        torch.save(model.state_dict(), file, _use_new_zipfile_serialization=modern)
    ours = pk.trained.load(tmp_path).read(IDS)
    logits = theirs.logits[0].numpy()
    assert np.abs(ours.logits - logits).max() < 1e-4 * np.abs(logits).max()
    for i in range(3):  # the last one is after their last norm
        hidden = theirs.hidden_states[i][0].numpy()
        assert np.abs(ours.hidden[i] - hidden).max() < 1e-4 * np.abs(hidden).max()


def hugging_face(family, directory):
    """A model of transformers with random weights, stored in a directory too."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model_class, config_class, sizes = MODELS[family]
    torch.manual_seed(2)
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**sizes)).eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(directory)
    return torch, model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", MODELS)
def test_measure_takes_what_transformers_returns(tmp_path, family):
    """A batch with padding, gradients and attention, against our own passes without padding."""
    torch, model = hugging_face(family, tmp_path)
    rng = np.random.default_rng(3)
    ids = [rng.integers(3, 50, size=n).tolist() for n in (20, 14, 17)]
    mask = torch.tensor([[1] * len(one) + [0] * (20 - len(one)) for one in ids])
    padded = torch.tensor([one + [0] * (20 - len(one)) for one in ids])
    theirs = model(padded, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    assert theirs.hidden_states[1].requires_grad
    measured = pk.trained.measure(theirs, attention_mask=mask)
    ours = [pk.trained.load(tmp_path, dtype="float64").read(one, attention=True) for one in ids]
    decoder = family in ("llama", "gpt2", "neox")
    assert [("final norm" in note) for note in measured.notes] == [True] * decoder
    end = -1 if decoder else None
    expected = pk.trained.measure(
        [one.hidden[:end] for one in ours],
        attention=[one.attention[:end] for one in ours],
        final_norm=False,
    )
    for name, one in expected.measures.items():
        values = measured.measures[name].values[:, : one.values.shape[1]]
        # A count of tokens may change where two are equally far away, to rounding.
        off = np.abs(values - one.values) > 1e-4 * (1 + np.abs(one.values))
        assert off.mean() < (0.1 if "centres" in name or "cosine >" in name else 1e-9), name


@pytest.mark.filterwarnings("ignore")
def test_measure_takes_half_the_digits_lists_and_stacks(tmp_path):
    torch, model = hugging_face("llama", tmp_path)
    ids = [torch.randint(50, (1, n), generator=torch.Generator().manual_seed(n)) for n in (12, 15)]
    whole = [model(one, output_hidden_states=True).hidden_states for one in ids]
    half = [model.bfloat16()(one, output_hidden_states=True) for one in ids]
    assert half[0].hidden_states[0].dtype == torch.bfloat16
    exact, rough = pk.trained.measure(whole), pk.trained.measure(half)
    cosine = [one.curves["mean cosine"].values for one in (exact, rough)]
    assert np.abs(cosine[0] - cosine[1]).max() < 0.02  # 2^-8 in each entry
    stacked = pk.trained.measure([torch.stack(states) for states in whole])
    assert stacked.to_dict() == exact.to_dict()
    with pytest.raises(pk.InputError, match="output_hidden_states=True"):
        pk.trained.measure(model(ids[0]))
