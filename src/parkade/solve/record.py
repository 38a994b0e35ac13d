"""Record a simulation: every step, given times, or only the end."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from parkade.base import check
from parkade.base.types import Array
from parkade.runs.interpolation import between, interpolate

Record = tuple[Array, Array, Array | None]
"""What was recorded: times (T,), tokens (T, n, d), and dense output (T-1, p, n, d) or None."""


class Recorder(Protocol):
    """Receives chunks of steps and stores the requested part."""

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        """Add the ends and dense output of some steps, in order."""

    def result(self) -> Record:
        """The steps recorded so far."""


def recorder(times: Any, x0: Array, method: str, d: int) -> Recorder:
    """The recorder for `times`: an array, "steps" or "final".

    `x0` is the first state: tokens in dimension d, and possibly their ln r in one more column.
    """
    if isinstance(times, str):
        return _Steps(x0) if times == "steps" else _Final()
    return _Times(times, x0, method, d)


class _Final:
    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        self._time, self._tokens = times[-1:].copy(), tokens[-1:].copy()

    def result(self) -> Record:
        return self._time, self._tokens, None


class _Steps:
    def __init__(self, x0: Array) -> None:
        self._chunks: list[tuple[Array, Array, Array]] = []
        self._x0 = x0
        self._size = 0

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        grown = tokens.nbytes + dense.nbytes
        self._size += grown
        # Joining the chunks at the end takes as much memory again.
        check.fits_in_memory(
            self._size + grown,
            f"saving every step up to t={times[-1]:g}",
            "pass times='final' or an array of times to save less",
        )
        self._chunks.append((times.copy(), tokens.copy(), dense.copy()))

    def result(self) -> Record:
        times, tokens, dense = zip(*self._chunks, strict=True)
        return (
            np.concatenate([[0.0], *times]),
            np.concatenate([self._x0[None], *tokens]),
            np.concatenate(dense),
        )


class _Times:
    def __init__(self, times: Array, x0: Array, method: str, d: int) -> None:
        size = float(len(times)) * x0.nbytes
        check.fits_in_memory(
            size, f"saving {len(times)} times of {len(x0)} tokens", "save fewer times"
        )
        self._times, self._method, self._d = times, method, d
        self._tokens = np.empty((len(times), *x0.shape))
        self._next = int(np.searchsorted(times, 0.0, side="right"))
        self._tokens[: self._next] = x0
        self._t, self._x = 0.0, x0

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        stop = int(np.searchsorted(self._times, times[-1], side="right"))
        wanted = self._times[self._next : stop]
        step = np.searchsorted(times, wanted)  # the step that contains each time
        for i, (t, s) in enumerate(zip(wanted, step, strict=True), start=self._next):
            before, since = (self._x, self._t) if s == 0 else (tokens[s - 1], times[s - 1])
            ends = before, tokens[s]
            self._interpolate(t, (since, times[s]), ends, dense[s], self._tokens[i])
        self._next = stop
        self._t, self._x = float(times[-1]), tokens[-1].copy()

    def _interpolate(
        self,
        t: float,
        times: tuple[float, float],
        ends: tuple[Array, Array],
        dense: Array,
        out: Array,
    ) -> None:
        """Set `out` to the state at time t inside a step: tokens, and possibly their ln r."""
        d = self._d
        directions = ends[0][:, :d], ends[1][:, :d]
        interpolate(self._method, t, times, directions, dense[:, :, :d], out[:, :d])
        if out.shape[1] > d:
            theta = (t - times[0]) / (times[1] - times[0])
            logs = ends[0][:, d], ends[1][:, d]
            out[:, d] = between(self._method, theta, *logs, dense[:, :, d])

    def result(self) -> Record:
        if self._next == len(self._times):
            return self._times, self._tokens, None
        # The run stopped early: return the times up to there, and where it stopped.
        times = np.append(self._times[: self._next], self._t)
        return times, np.concatenate([self._tokens[: self._next], self._x[None]]), None
