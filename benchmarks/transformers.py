"""Velocities of whole transformers against PyTorch and NumPy, float64, on the same cores.

    python benchmarks/transformers.py            prints a table in Markdown

PyTorch is not installed with parkade; without it, only NumPy is measured. Its model has Linear
layers, scaled_dot_product_attention with is_causal=True and an MLP, for all systems at once.
NumPy has the same with matrix products. All three are checked against the definition.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import parkade as pk
from parkade.base.types import Array
from parkade.engine.compile import threads
from parkade.engine.field import velocity as field_velocity
from parkade.model.transformer import Transformer
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field

ROUNDS, TURN = 20, 0.2
"""Seconds of a turn: threads of another library may be busy for a while after theirs."""


def cases() -> dict[str, tuple[Transformer, Array, float, float]]:
    """Models, tokens, and targets: times faster than PyTorch and NumPy."""
    large = pk.Transformer(8, d=64, d_head=8, beta=1.0, seed=1, mlp=pk.MLP.random(64, seed=2))
    small = pk.Transformer(4, d=3, d_head=3, beta=4.0, seed=1)
    many = np.stack([pk.sphere.uniform(200, 3, seed=s) for s in range(64)])
    return {
        "n = 512, d = 64, 8 heads of 8, MLP 4d": (large, pk.sphere.uniform(512, 64, 3), 2, 4),
        "64 systems, n = 200, d = 3, 4 heads": (small, many, 5, 10),
    }


def ours(model: Transformer, x: Array) -> Callable[[], Array]:
    """Our kernels, on all cores."""
    field = prepare_field(model, transformer_frame(model, long=False))

    def velocity() -> Array:
        with threads.single_threaded_blas():  # as in runs: our own threads share out the work
            return field_velocity.velocity(field, x)

    return velocity


def factors(model: Transformer) -> tuple[Array, Array, Array, Array]:
    """β Q, K and W of all heads, (H, m, d), and O, (H, d, m): V = O W."""
    factored = []
    for head in model.heads:
        m = len(head.Q)
        left, sizes, right = np.linalg.svd(head.V)
        factored.append((head.beta * head.Q, head.K, right[:m], left[:, :m] * sizes[:m]))
    queries, keys, values, outputs = (np.stack(part) for part in zip(*factored, strict=True))
    return queries, keys, values, outputs


def by_numpy(model: Transformer, x: Array) -> Callable[[], Array]:
    """The same with matrix products of NumPy, for all systems at once."""
    queries, keys, values, outputs = factors(model)
    n = x.shape[-2]
    hidden = np.triu(np.full((n, n), -np.inf), 1)

    def velocity() -> Array:
        q, k, v = (x[..., None, :, :] @ part.swapaxes(-1, -2) for part in (queries, keys, values))
        scores = q @ k.swapaxes(-1, -2) + hidden
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        force = (weights @ v @ outputs.swapaxes(-1, -2)).sum(axis=-3)
        if model.mlp is not None:
            inner = np.maximum(x @ model.mlp.W1.T + model.mlp.b1, 0.0)
            force = force + inner @ model.mlp.W2.T + model.mlp.b2
        tangent: Array = force - np.sum(force * x, axis=-1, keepdims=True) * x
        return tangent

    return velocity


def by_torch(model: Transformer, x: Array) -> Callable[[], Array] | None:
    """The same with PyTorch; None without it."""
    try:
        library: Any = import_module("torch")
    except ImportError:
        return None
    library.set_num_threads(threads.cores())
    queries, keys, values, outputs = factors(model)
    heads, m, d = queries.shape

    def linear(weight: Array, bias: Array | None = None) -> Any:
        rows, columns = weight.shape
        layer = library.nn.Linear(columns, rows, bias=bias is not None, dtype=library.float64)
        with library.no_grad():
            layer.weight.copy_(library.from_numpy(weight.copy()))
            if bias is not None:
                layer.bias.copy_(library.from_numpy(bias.copy()))
        return layer

    project = linear(np.concatenate([queries, keys, values]).reshape(-1, d))
    output = linear(outputs.transpose(1, 0, 2).reshape(d, heads * m))
    network = None
    if model.mlp is not None:
        mlp = model.mlp
        network = library.nn.Sequential(
            linear(mlp.W1, mlp.b1), library.nn.ReLU(), linear(mlp.W2, mlp.b2)
        )
    tokens = library.from_numpy(x.reshape(-1, *x.shape[-2:]).copy())
    attend = library.nn.functional.scaled_dot_product_attention

    def velocity() -> Array:
        with library.inference_mode():
            batch, n, _ = tokens.shape
            q, k, v = project(tokens).view(batch, n, 3, heads, m).permute(2, 0, 3, 1, 4)
            mixed = attend(q, k, v, is_causal=True, scale=1.0)
            force = output(mixed.transpose(1, 2).reshape(batch, n, heads * m))
            if network is not None:
                force = force + network(tokens)
            tangent = force - (force * tokens).sum(-1, keepdim=True) * tokens
            result: Array = tangent.numpy().reshape(x.shape)
            return result

    return velocity


def seconds(run: Callable[[], Array]) -> float:
    """How long a velocity takes, at best, in a turn."""
    best, end = math.inf, time.perf_counter() + TURN
    while (begun := time.perf_counter()) < end:
        run()
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    """Race them in turns, and let the best round of each count."""
    print("| velocity of | PyTorch, ms | NumPy, ms | parkade, ms | × PyTorch | × NumPy |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, (model, x, torch_target, numpy_target) in cases().items():
        racers = {"torch": by_torch(model, x), "numpy": by_numpy(model, x), "ours": ours(model, x)}
        exact = np.asarray(model.velocity(x))
        best = dict.fromkeys(racers, math.nan)
        for who, run in racers.items():
            if run is not None:
                error = float(np.abs(run() - exact).max())
                assert error < 1e-12, (who, error)
                best[who] = math.inf
        for _ in range(ROUNDS):
            for who, run in racers.items():
                if run is not None:
                    best[who] = min(best[who], seconds(run))
        ratios = [best[who] / best["ours"] for who in ("torch", "numpy")]
        print(
            f"| {name} | {1e3 * best['torch']:.2f} | {1e3 * best['numpy']:.2f} | "
            f"{1e3 * best['ours']:.2f} | {ratios[0]:.1f} (target {torch_target}) | "
            f"{ratios[1]:.1f} (target {numpy_target}) |"
        )


if __name__ == "__main__":
    main()
