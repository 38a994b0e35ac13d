"""A forward pass of SmolLM2-135M with all hidden states, against PyTorch on the same cores.

    python benchmarks/trained.py [tokens [threads]]        prints a table in Markdown

It needs the model (`parkade trained --get SmolLM2-135M`) and, for its column, PyTorch, which is not
installed with parkade. PyTorch has the same weights in float32, its own norms, linear layers and
scaled_dot_product_attention with is_causal=True, and keeps the tokens after each layer, too. Where
others use the machine, compare CPU seconds on one thread.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import parkade as pk
from parkade.trained.model import Trained

ROUNDS = 5
NAME = "SmolLM2-135M"


def torch_pass(model: Trained, ids: Any) -> Callable[[], Any]:
    """The same forward pass in PyTorch."""
    torch = import_module("torch")
    functional = import_module("torch.nn.functional")
    shape, ends = model.shape, model.ends
    assert ends.exit is not None

    def tensor(array: Any) -> Any:
        return torch.from_numpy(np.array(array))

    layers = []
    for i in range(shape.layers):
        block = model.block(i)
        assert block.attention is not None
        assert block.mlp is not None
        assert block.norms is not None
        at, mlp = block.attention, block.mlp
        parts = [at.q, at.k, at.v, at.o, mlp.gate, mlp.up, mlp.down]
        gains = (norm.gain for norm in block.norms)
        layers.append(([tensor(part) for part in parts], [tensor(gain) for gain in gains]))
    embedding, eps = tensor(ends.embedding), ends.exit.eps
    angles = np.arange(len(ids))[:, None] * at.turns
    cos, sin = tensor(np.cos(angles).astype(np.float32)), tensor(np.sin(angles).astype(np.float32))
    places, m = torch.from_numpy(np.asarray(ids)), shape.d_head

    def turned(rows: Any) -> Any:
        even, odd = rows[..., 0::2], rows[..., 1::2]
        both = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return both.flatten(-2)

    def split(rows: Any, heads: int) -> Any:
        return rows.view(1, len(ids), heads, m).transpose(1, 2)

    def run() -> Any:
        with torch.inference_mode():
            x = embedding[places]
            hidden = [x]
            for (q, k, v, o, gate, up, down), (first, second) in layers:
                y = functional.rms_norm(x, (shape.d,), first, eps)
                queries = turned(split(functional.linear(y, q), shape.heads))
                keys = turned(split(functional.linear(y, k), shape.kv_heads))
                values = split(functional.linear(y, v), shape.kv_heads)
                mixed = functional.scaled_dot_product_attention(
                    queries, keys, values, is_causal=True, enable_gqa=True
                )
                flat = mixed.transpose(1, 2).reshape(len(ids), -1)
                x = x + functional.linear(flat, o)
                y = functional.rms_norm(x, (shape.d,), second, eps)
                inner = functional.silu(functional.linear(y, gate)) * functional.linear(y, up)
                x = x + functional.linear(inner, down)
                hidden.append(x)
            return torch.stack(hidden).numpy()

    return run


def peak(tokens: int) -> float:
    """The peak memory of a process that loads the model and reads, MiB."""
    code = f"import runpy; runpy.run_path({__file__!r})['alone']({tokens})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def alone(tokens: int) -> None:
    """Load and read, and print the peak memory."""
    model = pk.trained.load(NAME)
    model.read(_ids(model, tokens))
    # Not ru_maxrss, which begins with that of the parent.
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024)


def _ids(model: Trained, tokens: int) -> Any:
    return np.random.default_rng(1).integers(model.shape.vocabulary, size=tokens)


def main() -> None:
    """Measure in turns and print the best times."""
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else None
    start = time.perf_counter()
    model = pk.trained.load(NAME)
    print(f"{tokens} tokens; load {time.perf_counter() - start:.2f} s", end=", ", flush=True)
    ids = _ids(model, tokens)
    start = time.perf_counter()
    hidden = model.read(ids).hidden
    print(f"first reading {time.perf_counter() - start:.2f} s", flush=True)
    runs: dict[str, Callable[[], Any]] = {"parkade": lambda: model.read(ids).hidden}
    try:
        runs["PyTorch"] = torch_pass(model, ids)
        if threads is not None:
            import_module("torch").set_num_threads(threads)
    except ImportError:
        print("PyTorch is not installed")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    with threadpool_limits(threads):
        for _ in range(ROUNDS):
            for name, run in runs.items():
                wall, cpu = time.perf_counter(), time.process_time()
                result = run()
                times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
                error = np.abs(result - hidden).max() / np.abs(hidden).max()
                assert error < 1e-4, (name, error)
    best = {name: np.min(pairs, axis=0) for name, pairs in times.items()}
    print("| | best, s | CPU, s |\n|---|---:|---:|")
    for name, (wall, cpu) in best.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} |")
    if "PyTorch" in best:
        wall, cpu = best["parkade"] / best["PyTorch"]
        print(f"| ratio | {wall:.2f} | {cpu:.2f} |")
    print(f"peak memory: {peak(tokens):.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
