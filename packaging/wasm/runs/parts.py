"""Random heads and a random MLP, as `explorer.settings.parts` draws them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numerics.draws import normal, seeded
from numerics.matrices import multiply
from slots import floats

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.explorer.settings.parts import HEADS_STREAM, MLP_STREAM


class ModelParts(NamedTuple):
    """Heads that share V evenly, and an MLP."""

    Q: Array  # (H, m, d)
    K: Array  # (H, m, d)
    V: Array  # (d, d): that of each head
    W1: Array  # (p, d)
    W2: Array  # (d, p)


class PartsRequest(NamedTuple):
    """The sizes of random parts, and their seed."""

    heads: int
    rank: int
    width: int  # of the MLP
    gain: float
    sample: float


@njit(allocates=True)
def _directions(state: Array, out: Array) -> None:
    """Set m rows of `out` to random orthogonal vectors of length √(d/m), as by LAPACK's QR."""
    m, d = out.shape
    a, taus = np.empty((d, m)), np.zeros(m)
    for r in range(d):
        for c in range(m):
            a[r, c] = normal(state)
    for i in range(m):  # Householder's reflections, from the left
        rest = 0.0
        for r in range(i + 1, d):
            rest = math.hypot(rest, a[r, i])
        if rest == 0.0:
            continue
        beta = -math.copysign(math.hypot(a[i, i], rest), a[i, i])
        taus[i] = (beta - a[i, i]) / beta
        for r in range(i + 1, d):
            a[r, i] /= a[i, i] - beta
        for c in range(i + 1, m):
            _reflect(a, taus[i], i, a[:, c])
        a[i, i] = beta
    column = np.empty(d)
    for c in range(m):
        for r in range(d):
            column[r] = 1.0 if r == c else 0.0
        for i in range(m - 1, -1, -1):
            _reflect(a, taus[i], i, column)
        for r in range(d):
            out[c, r] = column[r] * (d / m) ** 0.5


@njit()
def _reflect(a: Array, tau: float, i: int, column: Array) -> None:
    """Apply reflection i to a column: its vector is 1 in row i, and column i of `a` below that."""
    total = column[i]
    for r in range(i + 1, a.shape[0]):
        total += a[r, i] * column[r]
    column[i] -= tau * total
    for r in range(i + 1, a.shape[0]):
        column[r] -= tau * total * a[r, i]


@njit(allocates=True)
def draw_parts(V: Array, Q: Array, K: Array, drawn: PartsRequest) -> ModelParts:
    """Draw the heads and the MLP of a model with these matrices."""
    d, count, p = V.shape[0], drawn.heads, drawn.width
    m = min(drawn.rank, d) if count > 1 else d
    parts = ModelParts(
        floats((count, m, d)), floats((count, m, d)), floats((d, d)), floats((p, d)), floats((d, p))
    )
    for r in range(d):
        for c in range(d):
            parts.V[r, c] = V[r, c] / count if count > 1 else V[r, c]
            if count == 1:
                parts.Q[0, r, c], parts.K[0, r, c] = Q[r, c], K[r, c]
    if count > 1:
        state, directions = seeded(drawn.sample, HEADS_STREAM), np.empty((m, d))
        for h in range(count):
            _directions(state, directions)
            multiply(directions, Q, parts.Q[h])
            multiply(directions, K, parts.K[h])
    if p > 0:
        state = seeded(drawn.sample, MLP_STREAM)
        for i in range(p):
            for c in range(d):
                parts.W1[i, c] = normal(state) * math.sqrt(2.0)
        for c in range(d):
            for i in range(p):
                parts.W2[c, i] = drawn.gain * (normal(state) / math.sqrt(d * p))
    return parts
