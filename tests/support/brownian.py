"""The Brownian paths of `parkade.engine.steps.brownian` in plain NumPy, for all tokens at once."""

import math

import numpy as np

from parkade.engine.steps.brownian import EVERYONE, PART, ROOT
from parkade.solve.naive.splitting import NaiveSplitting

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(words, key):
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

    def __init__(self, noise, n, d):
        self._noise, self._d = noise, d
        self._tokens = np.array([EVERYONE]) if noise.common else np.arange(n)

    def _normals(self, depth, places):
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
        halves = np.stack(pairs, axis=-1).reshape(len(place), len(self._tokens), -1)
        return halves[..., : self._d]

    def increments(self, span):
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
        steps = cells[span.first : span.last]
        if span.part > 0.0:
            spread = math.sqrt(span.part * (1.0 - span.part) * width)
            normal = self._normals(PART + depth, span.cells * place + span.last)
            part = span.part * cells[span.last] + spread * normal
            steps = np.concatenate([steps, part])
        return steps

    def scatter(self, tokens, span):
        """Tokens (n, d) after the noise of a span."""
        if self._noise.scale == 0.0 or (span.first >= span.last and span.part == 0.0):
            return tokens
        x = tokens
        for step in self.increments(span):
            along = step - np.sum(x * step, axis=1, keepdims=True) * x
            lengths = np.linalg.norm(along, axis=1, keepdims=True)
            angles = self._noise.scale * lengths
            x = np.cos(angles) * x + np.sin(angles) / np.maximum(lengths, 1e-300) * along
        return x / np.linalg.norm(x, axis=1, keepdims=True)


class Reference(NaiveSplitting):
    """A noisy run without any compiled code."""

    def _scatter(self, state, span):
        d = self.model.d
        moved = Paths(self._noise_path, len(state), d).scatter(state[:, :d], span)
        return np.concatenate([moved, state[:, d:]], axis=1)
