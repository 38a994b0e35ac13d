"""All measures of the hidden states of 12 texts of 200 tokens, as transformers returns them.

    python -P benchmarks/states.py        prints a table in Markdown

-P, since another file beside this one is called transformers.py.

The states are those of a Llama of `transformers` with the sizes of SmolLM2-135M (31 states, d =
576) and random weights, in one batch; without PyTorch they are parkade's own, of the trained model.
The baseline are the single measures with the same numbers of draws, one after the other: what
`parkade.trained.measure` replaces. Where others use the machine, compare CPU seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import parkade as pk
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained import measures as ms
from parkade.trained.model import Trained
from parkade.trained.texts import texts

ROUNDS, TEXTS, TOKENS = 3, 12, 200


def token_ids(model: Trained) -> Any:
    """Twelve texts of 200 tokens: those that ship with parkade, one after the other."""
    listed = texts()
    ids = [model.encode(listed[i] + " " + listed[(i + 1) % TEXTS])[:TOKENS] for i in range(TEXTS)]
    return np.array(ids)


def hugging_face(ids: Any) -> Any:
    """The hidden states of a Llama of the same sizes by transformers."""
    torch = import_module("torch")
    transformers = import_module("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=576,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        intermediate_size=1536,
        vocab_size=49152,
        initializer_range=0.05,
    )
    with torch.inference_mode():
        model = transformers.LlamaModel(config).eval()
        return model(torch.from_numpy(ids), output_hidden_states=True).hidden_states


def one_by_one(states: Any) -> None:
    """The single measures, each with its own nulls."""
    arrays = [np.asarray(x) for x in states]
    hidden = list(np.moveaxis(np.stack(arrays[:-1]), 1, 0).astype(np.float64))
    with single_threaded_blas():
        rest = [ms.without_tokens(x, ms.find_sinks(x)) for x in hidden]
        free = ms.centred(rest)
        for measure, layers in (
            (ms.mean_cosine, hidden),
            (ms.mean_cosine, rest),
            (ms.mean_cosine, free),
            (ms.effective_rank, free),
            (ms.close_share, rest),
            (ms.cluster_count, rest),
            (partial(ms.energy, beta=10.0), rest),
        ):
            ms.over_depth("", measure, layers, draws=1)
        ms.center_counts(free)
        ms.center_counts(free, kind="renyi", draws=8)
        ms.capture(free)
        ms.earlier_pull(free)


def main() -> None:
    """Measure in turns and print the best times."""
    model = pk.trained.load("SmolLM2-135M")
    ids = token_ids(model)
    try:
        states, by = hugging_face(ids), "transformers"
    except ImportError:
        states = tuple(np.stack([model.read(row).hidden for row in ids], axis=1))
        by = "parkade"
    runs: dict[str, Callable[[], Any]] = {
        "pk.trained.measure": lambda: pk.trained.measure(states, final_norm=True),
        "single measures": lambda: one_by_one(states),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for which, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            times[which].append((time.perf_counter() - wall, time.process_time() - cpu))
    print(f"by {by}: {len(states)} states of {TEXTS} texts, {TOKENS} tokens each")
    print("| | best, s | CPU, s |\n|---|---:|---:|")
    best = {which: np.min(pairs, axis=0) for which, pairs in times.items()}
    for which, (wall, cpu) in best.items():
        print(f"| {which} | {wall:.2f} | {cpu:.2f} |")
    wall, cpu = best["single measures"] / best["pk.trained.measure"]
    print(f"| ratio | {wall:.1f} | {cpu:.1f} |")


if __name__ == "__main__":
    main()
