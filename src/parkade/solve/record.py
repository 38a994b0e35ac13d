"""Record a simulation: every step, given times, or only the end."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from parkade.base import check
from parkade.base.types import Array
from parkade.runs.interpolation import METHOD, between, interpolate
from parkade.solve.steps import TakenSteps

Record = tuple[Array, Array, Array | None]
"""What was recorded: times (T,), tokens (T, n, d), and dense output (T-1, p, n, d) or None."""


class Recorder(Protocol):
    """Receives chunks of steps and stores the requested part."""

    def add(self, steps: TakenSteps) -> None:
        """Add some steps, in order."""

    def result(self) -> Record:
        """The steps recorded so far."""


def recorder(times: Any, x0: Array, d: int) -> Recorder:
    """The recorder for `times`: an array, "steps" or "final".

    `x0` is the first state: tokens in dimension d, and possibly their ln r in one more column.
    """
    if isinstance(times, str):
        return _EveryStep(x0, d) if times == "steps" else _Final(d)
    return _Times(times, x0, d)


class _Final:
    def __init__(self, d: int) -> None:
        self._d = d

    def add(self, steps: TakenSteps) -> None:
        self._last = steps.only(len(steps.times) - 1).without_dense().copied()

    def result(self) -> Record:
        return self._last.times, self._last.state(-1, self._d)[None], None


class _EveryStep:
    def __init__(self, x0: Array, d: int) -> None:
        self._chunks: list[TakenSteps] = []
        self._x0, self._d = x0, d
        self._size = 0

    def add(self, steps: TakenSteps) -> None:
        grown = len(steps.times) * self._x0.nbytes * (1 + steps.dense.shape[1])
        self._size += grown
        # Joining the chunks at the end takes as much memory again.
        check.fits_in_memory(
            self._size + grown,
            f"saving every step up to t={steps.times[-1]:g}",
            "pass times='final' or an array of times to save less",
        )
        self._chunks.append(steps.copied())

    def result(self) -> Record:
        times = np.concatenate([[0.0], *(chunk.times for chunk in self._chunks)])
        tokens = np.empty((len(times), *self._x0.shape))
        slopes = self._chunks[0].dense.shape[1]
        dense = np.empty((len(times) - 1, slopes, *self._x0.shape))
        tokens[0] = self._x0
        end = 0
        for chunk in self._chunks:
            start, end = end, end + len(chunk.times)
            chunk.write(self._d, tokens[start + 1 : end + 1], dense[start:end])
        return times, tokens, dense


class _Times:
    def __init__(self, times: Array, x0: Array, d: int) -> None:
        size = float(len(times)) * x0.nbytes
        check.fits_in_memory(
            size, f"saving {len(times)} times of {len(x0)} tokens", "save fewer times"
        )
        self._times, self._d = times, d
        self._tokens = np.empty((len(times), *x0.shape))
        self._next = int(np.searchsorted(times, 0.0, side="right"))
        self._tokens[: self._next] = x0
        self._before = TakenSteps.at_start(x0)

    def add(self, steps: TakenSteps) -> None:
        times = steps.times
        stop = int(np.searchsorted(self._times, times[-1], side="right"))
        wanted = self._times[self._next : stop]
        step = np.searchsorted(times, wanted)  # the step that contains each time
        for i, (t, s) in enumerate(zip(wanted, step, strict=True), start=self._next):
            last = self._before if s == 0 else steps.only(s - 1)
            one = steps.only(s).of_all(self._d)
            ends = last.state(-1, self._d), one.tokens[0]
            self._interpolate(t, (last.times[-1], times[s]), ends, one.dense[0], self._tokens[i])
        self._next = stop
        self._before = steps.only(len(times) - 1).without_dense().copied()

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
        method = METHOD[len(dense)]
        interpolate(method, t, times, directions, dense[:, :, :d], out[:, :d])
        if out.shape[1] > d:
            theta = (t - times[0]) / (times[1] - times[0])
            logs = ends[0][:, d], ends[1][:, d]
            out[:, d] = between(method, theta, *logs, dense[:, :, d])

    def result(self) -> Record:
        if self._next == len(self._times):
            return self._times, self._tokens, None
        # The run stopped early: return the times up to there, and where it stopped.
        times = np.append(self._times[: self._next], self._before.times[-1])
        last = self._before.state(-1, self._d)
        return times, np.concatenate([self._tokens[: self._next], last[None]]), None
