"""The Brownian paths of `parkade.engine.brownian` in plain NumPy, for all tokens at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.brownian import EVERYONE, PART, ROOT, Noise, Span
from parkade.engine.jit import interpreted
from parkade.engine.splitting import SHORTEST, longest
from parkade.engine.vectors import REACH
from parkade.model.model import Model

Words = NDArray[np.uint64]

_FIRST = 16.0  # steps in a root, at first
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def noise_of(model: Model, seed: int, piece: int) -> Noise:
    """The noise of a model, without a scale if it has none; each piece of a run has its own.

    A root is about the time in which forces or noise move a token by 1.
    """
    kappa = math.inf if model.noise is None else model.noise.kappa
    slowest = min(1.0 / max(model.rate, 1e-60), kappa, 1e60)
    key = np.random.SeedSequence(seed, spawn_key=(piece,)).generate_state(2)
    return Noise(
        scale=math.sqrt(2.0 / kappa),
        common=model.noise is not None and model.noise.common,
        root=2.0 ** math.floor(math.log2(slowest)),
        key=key.astype(np.uint64),
    )


def first_step(model: Model, noise: Noise, tol: float, t_end: float) -> float:
    """A step to begin with: no force moves a token far, and errors may halve it."""
    most = min(interpreted(longest)(model.d, noise, tol), t_end)
    most = min(most, REACH / max(model.sharpness * model.rate, 1e-300))
    h = noise.root / _FIRST
    while h > most and h > SHORTEST * noise.root:
        h *= 0.5
    return h


def philox(words: tuple[Any, ...], key: Words) -> list[Words]:
    """Encrypt four arrays of words of 32 bits."""
    a, b, c, d = (np.asarray(word, dtype=np.uint64) for word in words)
    k, m = key.tolist()
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, c = (right >> _HALF) ^ b ^ np.uint64(k), (left >> _HALF) ^ d ^ np.uint64(m)
        b, d = right & _LOW, left & _LOW
        k, m = (k + 0x9E3779B9) % 2**32, (m + 0xBB67AE85) % 2**32
    return [a, b, c, d]


class Paths:
    """The paths of n tokens in d dimensions."""

    def __init__(self, noise: Noise, n: int, d: int) -> None:
        self._noise, self._d = noise, d
        self._tokens = np.array([EVERYONE]) if noise.common else np.arange(n)

    def _normals(self, depth: int, places: NDArray[np.int64] | int) -> Array:
        """Independent normal numbers, (places, n, d), or (places, 1, d) for common noise."""
        first = np.arange(0, self._d, 4)
        place = np.atleast_1d(places)[:, None, None].astype(np.uint64)
        words = np.broadcast_arrays(
            self._tokens[:, None], 256 * (first // 4) + depth, place & _LOW, place >> _HALF
        )
        a, b, c, e = (word.astype(np.float64) for word in philox(tuple(words), self._noise.key))
        sizes = [np.sqrt(-2.0 * np.log((word + 0.5) * 2.0**-32)) for word in (a, c)]
        angles = [2.0 * math.pi * 2.0**-32 * word for word in (b, e)]
        pairs = [
            size * turn(angle)
            for size, angle in zip(sizes, angles, strict=True)
            for turn in (np.cos, np.sin)
        ]
        found = np.stack(pairs, axis=-1).reshape(len(place), len(self._tokens), -1)
        normals: Array = found[..., : self._d]
        return normals

    def increments(self, span: Span) -> Array:
        """The increments over the cells of a span that count, and over a part of one more."""
        place, above = int(span.start / span.width), 0
        while span.width * 2.0**above < self._noise.root:
            above += 1
        width = self._noise.root
        cells = math.sqrt(width) * self._normals(ROOT, place >> above)
        for depth in range(above):
            bend = 0.5 * math.sqrt(width) * self._normals(depth, place >> (above - depth))
            right = (place >> (above - depth - 1)) & 1
            cells = 0.5 * cells + (-bend if right else bend)
            width *= 0.5
        depth = above
        while len(cells) < span.cells:
            count = len(cells)
            bend = 0.5 * math.sqrt(width) * self._normals(depth, count * place + np.arange(count))
            halves = [0.5 * cells + bend, 0.5 * cells - bend]
            cells = np.stack(halves, axis=1).reshape(2 * count, *cells.shape[1:])
            width, depth = 0.5 * width, depth + 1
        found: Array = cells[span.first : span.last]
        if span.part > 0.0:
            spread = math.sqrt(span.part * (1.0 - span.part) * width)
            normal = self._normals(PART + depth, span.cells * place + span.last)
            part = span.part * cells[span.last] + spread * normal
            found = np.concatenate([found, part])
        return found

    def scatter(self, tokens: Array, span: Span) -> Array:
        """Tokens (n, d) after the noise of a span."""
        if self._noise.scale == 0.0 or (span.first >= span.last and span.part == 0.0):
            return tokens
        x = tokens
        for step in self.increments(span):
            along = step - np.sum(x * step, axis=1, keepdims=True) * x
            lengths = np.linalg.norm(along, axis=1, keepdims=True)
            angles = self._noise.scale * lengths
            x = np.cos(angles) * x + np.sin(angles) / np.maximum(lengths, 1e-300) * along
        moved: Array = x / np.linalg.norm(x, axis=1, keepdims=True)
        return moved
