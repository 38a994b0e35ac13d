"""Record a simulation: every step, given times, or only the end."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from parkade.base import check
from parkade.base.types import Array
from parkade.runs.interpolation import interpolate

Kept = tuple[Array, Array, Array | None]
"""times (T,), tokens (T, n, d), dense (T-1, p, n, d) or None."""


class Recorder(Protocol):
    """Receives chunks of steps and keeps the requested part."""

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        """Add the ends and dense output of some steps, in order."""

    def result(self) -> Kept:
        """The recorded data."""


def recorder(times: Any, x0: Array, method: str) -> Recorder:
    """The recorder for `times`: an array, "steps" or "final"."""
    if isinstance(times, str):
        return _Steps(x0) if times == "steps" else _Final()
    return _Times(times, x0, method)


class _Final:
    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        self._time, self._tokens = times[-1:].copy(), tokens[-1:].copy()

    def result(self) -> Kept:
        return self._time, self._tokens, None


class _Steps:
    def __init__(self, x0: Array) -> None:
        self._chunks: list[tuple[Array, Array, Array]] = []
        self._x0 = x0
        self._size = 0

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        grown = tokens.nbytes + dense.nbytes
        self._size += grown
        # Joining the chunks at the end needs their size once more.
        check.fits_in_memory(
            self._size + grown,
            f"saving every step up to t={times[-1]:g}",
            "pass times='final' or an array of times to save less",
        )
        self._chunks.append((times.copy(), tokens.copy(), dense.copy()))

    def result(self) -> Kept:
        times, tokens, dense = zip(*self._chunks, strict=True)
        return (
            np.concatenate([[0.0], *times]),
            np.concatenate([self._x0[None], *tokens]),
            np.concatenate(dense),
        )


class _Times:
    def __init__(self, times: Array, x0: Array, method: str) -> None:
        size = float(len(times)) * x0.nbytes
        check.fits_in_memory(
            size, f"saving {len(times)} times of {len(x0)} tokens", "save fewer times"
        )
        self._times, self._method = times, method
        self._tokens = np.empty((len(times), *x0.shape))
        self._next = int(np.searchsorted(times, 0.0, side="right"))
        self._tokens[: self._next] = x0
        self._t, self._x = 0.0, x0

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        stop = int(np.searchsorted(self._times, times[-1], side="right"))
        wanted = self._times[self._next : stop]
        step = np.searchsorted(times, wanted)  # the step that ends at or after it
        for i, (t, s) in enumerate(zip(wanted, step, strict=True), start=self._next):
            before, since = (self._x, self._t) if s == 0 else (tokens[s - 1], times[s - 1])
            ends = before, tokens[s]
            interpolate(self._method, t, (since, times[s]), ends, dense[s], self._tokens[i])
        self._next = stop
        self._t, self._x = float(times[-1]), tokens[-1].copy()

    def result(self) -> Kept:
        if self._next == len(self._times):
            return self._times, self._tokens, None
        # The run stopped early: return the times up to there, and where it stopped.
        times = np.append(self._times[: self._next], self._t)
        return times, np.concatenate([self._tokens[: self._next], self._x[None]]), None
