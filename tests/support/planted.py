"""A causal model with one layer whose first head writes a planted axis of few words."""

from __future__ import annotations

import numpy as np

from parkade.trained.block import AttentionWeights, Block, Ends, NormWeights, Readout, Shape
from parkade.trained.model import Trained
from parkade.trained.tokens import Vocabulary

D, M, WORDS, FEW = 32, 4, 400, 6
"""Sizes; the first `FEW` words lie at one end of the axis and the next `FEW` at the other."""

NAMES = tuple(f"w{i:03d}" for i in range(WORDS))


def planted(seed=0, turned=False, strength=1.0, unseen=0, names=NAMES, sign=1.0, shear=8.0):
    """The model and its axis (1, d), or its plane (2, d) in which the words form a wheel.

    `strength` 0 plants nothing. The last words, `unseen` in number, are never expected. `sign` is
    that of the first head's values; their `shear` is its first singular pair.
    """
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((D, D)))[0]
    p = 1 + turned
    axis = basis[:, :p].T
    embedding = rng.standard_normal((WORDS, D))
    places = np.zeros((WORDS, p))
    if turned:
        angles = np.arange(2 * FEW) * np.pi / FEW
        places[: 2 * FEW] = np.stack([np.cos(angles), np.sin(angles)], 1)
    else:
        places[:FEW], places[FEW : 2 * FEW] = 1, -1
    chosen = places.any(axis=1)
    embedding[chosen] = 0.1 * embedding[chosen] if strength else embedding[chosen]
    embedding += 6 * strength * places @ axis
    bias = np.zeros(WORDS)
    if unseen:
        bias[-unseen:] = -60
    blocks = [_block(rng, basis, p, sign, shear)]
    shape = Shape(
        family="planted", d=D, layers=1, heads=2, kv_heads=2, d_head=M, width=8,
        vocabulary=WORDS, order="pre", activation="silu", causal=True, longest=64,
    )  # fmt: skip
    gain = 1 + 0.3 * rng.random(D)
    ends = Ends(embedding, exit=_norm(gain), head=Readout(embedding / gain / 40, bias))
    model = Trained("planted", shape, np.dtype(np.float64), blocks.__getitem__, lambda: ends,
                    Vocabulary(names))  # fmt: skip
    return model, axis


def _block(rng, basis, p, sign, shear):
    """The first head has the leading eigenvalue 3, or 3 ± i, on the first axes; the second none."""
    gain = 1 + 0.3 * rng.random(D)
    q, k, v, o = (rng.standard_normal((2 * M, D)) / 8 for _ in range(4))
    inner = 0.3 * rng.standard_normal((M, M))
    inner[:p, :p] = [[3, -1], [1, 3]] if p == 2 else 3
    inner[p:, :p] = 0
    inner[2, 3] = shear
    v[:M] = sign * inner @ basis[:, :M].T / gain
    o[:M] = basis[:, :M].T
    return Block(AttentionWeights(q, k, v, o.T.copy()), None, (_norm(gain), _norm(gain)))


def _norm(gain):
    return NormWeights(gain, None, 1e-6, centred=False)
