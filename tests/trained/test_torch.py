"""Forward passes against those of transformers and PyTorch, where these are installed."""

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
