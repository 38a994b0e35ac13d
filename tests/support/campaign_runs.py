"""Random models of Hugging Face's library: written, run there, and compared."""

from __future__ import annotations

import contextlib
import io
import json
import math

import numpy as np

from support.campaign import VOCABULARY


def save(case, folder, seed=0):
    """Write a random model of Hugging Face's library into a folder."""
    import torch
    import transformers

    config = getattr(transformers, case.config)(**case.settings)
    model = getattr(transformers, case.model)(config)
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            z = torch.randn(parameter.shape, generator=source)
            if parameter.ndim > 1:
                embeds = "embed" in name or "wte" in name or "wpe" in name
                z *= 0.7 if embeds else 1.5 / math.sqrt(parameter.shape[-1])
            else:
                z *= 0.3
                z += float(("norm" in name.lower() or "ln_" in name) and name.endswith("weight"))
            parameter.copy_(z)
    model.tie_weights()
    with contextlib.redirect_stderr(io.StringIO()):
        model.save_pretrained(folder)


def theirs(case, folder, ids, dtype="float64"):
    """Hidden states and logits by Hugging Face's library; logits are None without a head."""
    import torch
    import transformers

    how = {"attn_implementation": "eager"} if case.eager else {}
    kind = getattr(torch, dtype)
    with contextlib.redirect_stderr(io.StringIO()):
        model = getattr(transformers, case.model).from_pretrained(folder, dtype=kind, **how).eval()
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_hidden_states=True)
    logits = getattr(out, "logits", getattr(out, "prediction_logits", None))
    if logits is not None and logits.shape[-1] != VOCABULARY:
        logits = None  # of a classifier
    hidden = np.array([states[0].numpy() for states in out.hidden_states])
    return hidden, None if logits is None else logits[0].numpy()


def difference(reading, hidden, logits):
    """The largest relative difference of a reading from hidden states and logits."""
    ends = reading.model.ends
    last = reading.hidden[-1] if ends.exit is None else ends.exit(reading.hidden[-1])
    pairs = list(zip([*reading.hidden[:-1], last], hidden, strict=True))
    if logits is not None and ends.head is not None:
        pairs.append((reading.logits, logits))
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def settings_of(folder):
    return json.loads((folder / "config.json").read_text())
