"""Detect runs that are too slow to finish.

Some motions never settle: tokens circle each other forever, and each turn takes steps. Such a
run is stopped early with an error message, instead of running for days.
"""

from __future__ import annotations

import math
import time

_SECONDS = 2.0  # no run is stopped before
_SLOW = 20.0  # seconds after which fewer steps are enough to judge
# Steps before a run is judged, at tol = 1e-6: normally, and if it is slow. Explicit steps soon
# have their final size. Implicit ones may be waiting for a merge or for the last token to settle.
_FEW = {"explicit": (2000, 1000), "implicit": (30000, 4000), "splitting": (2000, 1000)}
_MANY = 1e6  # a run that needs fewer steps is not stopped
_LONG = 60.0  # a run that needs fewer seconds is not stopped
_STEADY = 4.0  # a run whose time grows by this factor while its steps double is not stuck


class Pace:
    """Watches the steps of a run."""

    def __init__(self, method: str, t_end: float, tol: float, max_steps: int | None = None) -> None:
        self._t_end = t_end
        self._max_steps = max_steps
        self._few = [count * max(1.0, (1e-6 / tol) ** 0.25) for count in _FEW[method]]
        self.begin(0, (0.0, t_end))

    def begin(self, steps: int, span: tuple[float, float]) -> None:
        """Judge anew from here, after `steps` steps: another model moves the tokens."""
        self._steps, (self._start, self._until) = steps, span
        self._marks: list[tuple[int, float, float]] = []  # steps, t, seconds
        self._half = 0  # the last mark before half of the steps
        self._begun = time.perf_counter()

    def room(self, steps: int) -> float:
        """The number of steps still allowed."""
        return math.inf if self._max_steps is None else self._max_steps - steps

    def judge(self, steps: int, t: float) -> str:
        """Why the run should stop here, after `steps` steps at time `t`; empty if it should not."""
        if t >= self._t_end:
            return ""
        if self._max_steps is not None:
            reached = f"the run reached max_steps={self._max_steps} at t={t:.3g}"
            remedy = "increase max_steps, or use partial=True to get the run so far"
            return f"{reached}; {remedy}" if steps >= self._max_steps else ""
        if t >= self._until:
            return ""
        return self._extrapolate(steps - self._steps, t - self._start)

    def _extrapolate(self, steps: int, t: float) -> str:
        """Whether the model that moves the tokens is stuck: its own steps, and its own time."""
        seconds = time.perf_counter() - self._begun
        self._marks.append((steps, t, seconds))
        if seconds < _SECONDS or steps < self._few[seconds > _SLOW]:
            return ""
        while self._half + 1 < len(self._marks) and 2 * self._marks[self._half + 1][0] <= steps:
            self._half += 1
        before, since, spent = self._marks[self._half]
        left = _steps_left(before, since, steps, t, self._until - self._start)
        wait = left * (seconds - spent) / (steps - before)
        if left < _MANY or wait < _LONG:
            return ""
        return (
            f"the run is too slow to reach t={self._until:g}: after {self._steps + steps} steps "
            f"and {seconds:.0f} s it is at t={self._start + t:.3g}, and the rest would take "
            f"{_about(left)} steps, {_duration(wait)}; the tokens may never come to rest, "
            "so use a smaller t_end, partial=True to get the run so far, or max_steps to allow "
            "more steps"
        )


def _steps_left(before: int, since: float, steps: int, t: float, t_end: float) -> float:
    """The estimated number of remaining steps, from those between time `since` and t."""
    grown = math.log(t / since) if t > since > 0 else 0.0
    ahead = math.log(t_end / t)
    if grown >= math.log(_STEADY):  # steps per decade
        return (steps - before) * ahead / grown
    if grown == 0.0:
        return math.inf
    # Time grows like a power of the number of steps, usually the first power.
    exponent = ahead * math.log(steps / max(before, 1)) / grown
    return steps * math.expm1(exponent) if exponent < 700 else math.inf


def _about(count: float) -> str:
    if count > 1e99:
        return "infinitely many"
    return f"about {count:.0e}".replace("e+0", "e").replace("e+", "e")


def _duration(seconds: float) -> str:
    for unit, size in (("years", 3.15e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * size:
            count = seconds / size
            return f"about {count:.0f} {unit}" if count < 1e6 else f"more than a million {unit}"
    return f"about {seconds / 60:.0f} minutes"
