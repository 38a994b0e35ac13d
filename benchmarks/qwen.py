"""A forward pass with the shapes of Qwen2-0.5B and random weights, against Hugging Face's library.

    python -P benchmarks/qwen.py [tokens …]        prints a table in Markdown

Without -P, Python would take `transformers.py` in this folder for the library of that name. It
needs torch and transformers, which are not dependencies of parkade, and 2 GB in a temporary
directory. Both keep the tokens after every layer and compute all logits, on one thread, in turns;
the CPU time is the best of ROUNDS.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np

import parkade as pk

ROUNDS = 4
SIZES = {
    "hidden_size": 896,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
}


def main() -> None:
    """Measure and print."""
    torch, transformers = import_module("torch"), import_module("transformers")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lengths = [int(text) for text in sys.argv[1:]] or [64, 512]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        config = transformers.Qwen2Config(**SIZES)
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).float().eval()
        ours = pk.trained.load(folder)
        ours.read([1]).logits  # noqa: B018 (weights are read when they are first needed)
        print("| tokens | parkade, CPU s | transformers, CPU s | ratio | largest difference |")
        print("|---:|---:|---:|---:|---:|")
        for n in lengths:
            ids = np.random.default_rng(3).integers(SIZES["vocab_size"], size=n)

            def read(ids: Any = ids) -> Any:
                return ours.read(ids).logits

            def run(ids: Any = ids) -> Any:
                batch = torch.tensor(ids)[None]
                with torch.inference_mode():
                    return theirs(batch, output_hidden_states=True).logits[0].numpy()

            best = [float("inf")] * 2
            results: list[Any] = [None, None]
            for _ in range(ROUNDS):
                for i, function in enumerate((read, run)):
                    start = time.process_time()
                    results[i] = function()
                    best[i] = min(best[i], time.process_time() - start)
            error = np.abs(results[0] - results[1]).max() / np.abs(results[1]).max()
            ratio = best[0] / best[1]
            print(f"| {n} | {best[0]:.2f} | {best[1]:.2f} | **{ratio:.2f}** | {error:.0e} |")


if __name__ == "__main__":
    main()
