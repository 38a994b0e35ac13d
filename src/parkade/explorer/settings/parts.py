"""The model that settings describe, made of the parts of a transformer.

Heads share the values: V is split evenly, V_h = V/H. Each compares tokens along its own few random
directions. A head of full rank is the single head with Q and K, and all heads together are close to
it, because the mean of K_hᵀQ_h is KᵀQ. So what is known for V still helps to understand the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.model.model import Model
from parkade.model.parts import norm as norms
from parkade.model.parts.head import Head
from parkade.model.parts.mlp import MLP
from parkade.model.parts.norm import Mix, Norm
from parkade.model.parts.position import Alibi, Position, Rope
from parkade.model.schedule import Schedule
from parkade.model.scheduled import Scheduled
from parkade.model.transformer import Transformer

NORMS = {
    "post": "post-norm",
    "pre": "pre-norm",
    "mix": "post-norm to t = 10, then pre",
    "peri": "peri-norm",
    "ngpt": "nGPT",
    "sqrt": "1/√(t + 1)",
}
"""Normalisations, in words."""

STILL = 1e-40
"""Noise that is none."""

MIX_TIME = 10.0
"""The norm "mix" is post-norm until this time, when clusters have formed, and pre-norm after it."""

HEADS_STREAM, MLP_STREAM = range(2)
"""Streams of random numbers, by which heads and the MLP are drawn."""


def assemble(settings: Mapping[str, Any], matrices: Mapping[str, Array]) -> Transformer:
    """The model of these settings, with the matrices Q, K and V."""
    d, beta, mask = settings["d"], settings["beta"], settings["mask"]
    if mask not in ("causal", "full"):
        mask = f"{mask}({settings['reach']})"
    mlp, place, norm = _mlp(settings), position(settings), norm_of(settings)
    noise = 1.0 / settings["noise"] if settings["noise"] > STILL else None
    if settings["heads"] == 1 and mlp is None and place is None and norm.name == "post":
        return Attention(d, beta, mask=mask, noise=noise, **matrices)
    heads = [Head(**matrices, beta=beta, d=d)]
    if settings["heads"] > 1:
        heads = _split(settings, matrices)
    return Transformer(heads, mlp=mlp, norm=norm, mask=mask, position=place, noise=noise)


def scheduled(model: Transformer, growth: float, end: float) -> Model:
    """The model with β + growth·ln(1 + t) in place of β, up to a time; itself without growth."""
    beta = model.beta
    if not growth or beta is None:
        return model
    return Scheduled(model, Schedule.of(lambda t: beta + growth * math.log1p(t), end))


def _split(settings: Mapping[str, Any], matrices: Mapping[str, Array]) -> list[Head]:
    """Heads that share V, each with a few random directions in which it compares tokens."""
    count, d = settings["heads"], settings["d"]
    m = min(settings["rank"], d)
    rng = _generator(settings, HEADS_STREAM)
    heads = []
    for _ in range(count):
        directions = np.linalg.qr(rng.standard_normal((d, m)))[0].T * (d / m) ** 0.5
        Q, K = directions @ matrices["Q"], directions @ matrices["K"]
        heads.append(Head(Q, K, matrices["V"] / count, settings["beta"]))
    return heads


def _mlp(settings: Mapping[str, Any]) -> MLP | None:
    if not settings["mlp"] or not settings["gain"]:
        return None
    drawn = MLP.random(settings["d"], settings["mlp"], _generator(settings, MLP_STREAM))
    return MLP(drawn.W1, settings["gain"] * drawn.W2)


def position(settings: Mapping[str, Any]) -> Position | None:
    """The position encoding that the settings name, or none."""
    if settings["encoding"] == "alibi":
        return Alibi(settings["slope"])
    return Rope() if settings["encoding"] == "rope" else None


def norm_of(settings: Mapping[str, Any]) -> Norm:
    """The normalisation that the settings name."""
    return Mix(MIX_TIME) if settings["norm"] == "mix" else norms.read(settings["norm"])


def _generator(settings: Mapping[str, Any], stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(settings["sample"], spawn_key=(stream,)))
