"""Sums by harmonic functions for tests: the compiled ones with their memory, and the definition."""

from __future__ import annotations

import numpy as np

from parkade.engine.compile.jit import interpreted
from parkade.engine.sums.basis import DIMENSIONS
from parkade.engine.sums.running import CHUNK, Chunk, Running
from support.harmonics import series_table

N = 300
CONFIGURATIONS = ["random", "cluster", "near a pole", "poles", "antipodal", "equator"]


def unit(v):
    """Vectors scaled to unit length."""
    return np.ascontiguousarray(v / np.linalg.norm(v, axis=-1, keepdims=True))


def tokens(name, d, rng):
    """N tokens: in the same place, spread, or where the coordinates are singular."""
    x = rng.standard_normal((N, d))
    pole = np.eye(d)[-1]
    if name == "cluster":
        x = unit([0.3, -0.5, 0.7][:d]) + 1e-9 * x
    elif name == "near a pole":
        x = pole + 0.01 * x
    elif name == "poles":
        x[: N // 3] = pole
        x[N // 3 : 2 * N // 3] = -pole
    elif name == "antipodal":
        x[N // 2 :] = -x[: N // 2]
    elif name == "equator":
        x[:, -1] = 0.0
    return unit(x)


def direct(x, mass, at, beta):
    """W, R, N and S by definition; t − 1 = −|x_j − x|²/2 loses no digits."""
    x, at = (v.astype(np.longdouble) for v in (x, at))
    x, at = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (x, at))
    delta = x[None] - at[:, None]
    less = -np.sum(delta**2, axis=-1) / 2
    w = mass * np.exp(beta * less)
    tangent = delta - less[..., None] * at[:, None]
    return (
        np.sum(w, axis=1),
        np.sum(w * less, axis=1),
        np.sum(w[..., None] * tangent, axis=1),
        np.einsum("kj,kja,kjb->kab", w, delta, tangent),
    )


def nothing_yet(d, table):
    """Sums over no tokens."""
    scratch = interpreted(DIMENSIONS[d].make_scratch)(table)  # which is not worth compiling
    return Running(table, np.zeros((4, table.shape[1])), scratch)


class Sums:
    """The compiled sums, for tests: all memory at hand."""

    def __init__(self, d, beta, tail=1e-15):
        self.d, self.engine = d, DIMENSIONS[d]
        self.running = nothing_yet(d, series_table(d, beta, tail))
        self.table, self.state = self.running.table, self.running.state

    def add(self, x, mass, lo=0, hi=None):
        hi = len(x) if hi is None else hi
        self.engine.add_features(self.running, x[lo:hi], mass[lo:hi])
        return self

    def change(self, x, u):
        """Enter the changes of all tokens, (d, n), which a last token of no weight completes."""
        step = CHUNK if self.engine.LEAVES_NEAR else 1
        total = -(-len(x) // step) * step + 1
        longer = np.concatenate([x, np.repeat(x[-1:], total - len(x), axis=0)])
        moves = np.zeros((self.d, total))
        moves[:, : len(x)] = u
        out = np.empty((step, 2 + self.d))
        for k in range(0, total, step):
            end = min(total, k + step)
            self.engine.far_changes(self.running, Chunk(longer, k, end), moves, out, True)
        return self

    def at(self, x, lo=0, hi=None):
        """W, R and N at some tokens, none of which joins."""
        rows = []
        hi = len(x) if hi is None else hi
        before = self.state.copy()
        for k in range(lo, hi, CHUNK):
            end = min(hi, k + CHUNK)
            out = np.full((CHUNK, 2 + self.d), np.nan)
            self.engine.far_sums(self.running, Chunk(x, k, end), out, True, False, True)
            assert np.isnan(out[end - k :]).all()
            rows.append(out[: end - k])
        assert np.array_equal(self.state, before)
        rows = np.concatenate(rows)
        return rows[:, 0], rows[:, 1], rows[:, 2:]

    def second_at(self, x):
        """W, R, N and S at tokens taken one by one, each of which is made to leave again."""
        outs, seconds = np.empty((len(x), 2 + self.d)), np.empty((len(x), self.d, self.d))
        out, second = np.empty((1, 2 + self.d)), np.empty((1, self.d, self.d))
        before = self.state.copy()
        for k in range(len(x)):
            self.engine.far_second(self.running, Chunk(x, k, k + 1), out, second)
            self.state[:] = before
            outs[k], seconds[k] = out[0], second[0]
        return outs[:, 0], outs[:, 1], outs[:, 2:], seconds


def errors(got, expected):
    return [float(np.max(np.abs(g - e))) for g, e in zip(got, expected, strict=True)]
