"""Whether a run can come to its end at the pace it has.

Some motions never settle: tokens circle each other for ever, and each turn takes steps. Such a
run is ended early with one sentence, instead of going on for days.
"""

from __future__ import annotations

import math
import time

_SECONDS = 2.0  # before this, no run is judged
_SLOW = 20.0  # seconds after which fewer steps have to do
# Steps before a run is judged, at tol = 1e-6: usually, and if it is slow. Explicit steps soon have
# their final size. Implicit ones wait for a merge, or for the last token to find its place.
_FEW = {"explicit": (2000, 1000), "implicit": (30000, 4000)}
_MANY = 1e6  # steps that no run should need
_LONG = 60.0  # seconds that nobody minds
_STEADY = 4.0  # a run whose time grows by this while its steps double is not stuck


class Pace:
    """Watches the steps of a run."""

    def __init__(self, method: str, t_end: float, tol: float, max_steps: int | None = None) -> None:
        self._t_end = t_end
        self._max_steps = max_steps
        self._few = [count * max(1.0, (1e-6 / tol) ** 0.25) for count in _FEW[method]]
        self._marks: list[tuple[int, float, float]] = []  # steps, t, seconds
        self._half = 0  # the last mark before half of the steps
        self._begun = time.perf_counter()

    def room(self, steps: int) -> float:
        """How many more steps are allowed."""
        return math.inf if self._max_steps is None else self._max_steps - steps

    def judge(self, steps: int, t: float) -> str:
        """Why the run should end here, after `steps` steps at time `t`; empty if it should not."""
        if t >= self._t_end:
            return ""
        if self._max_steps is not None:
            reached = f"the run took its max_steps={self._max_steps} steps and is at t={t:.3g}"
            remedy = "allow more, or ask for what there is with partial=True"
            return f"{reached}; {remedy}" if steps >= self._max_steps else ""
        seconds = time.perf_counter() - self._begun
        self._marks.append((steps, t, seconds))
        if seconds < _SECONDS or steps < self._few[seconds > _SLOW]:
            return ""
        while self._half + 1 < len(self._marks) and 2 * self._marks[self._half + 1][0] <= steps:
            self._half += 1
        before, since, spent = self._marks[self._half]
        left = _steps_left(before, since, steps, t, self._t_end)
        wait = left * (seconds - spent) / (steps - before)
        if left < _MANY or wait < _LONG:
            return ""
        return (
            f"the run cannot reach t={self._t_end:g} at its pace: after {steps} steps and "
            f"{seconds:.0f} s it is at t={t:.3g}, and the rest would take {_about(left)} steps, "
            f"{_duration(wait)}; the tokens may never come to rest, so choose an earlier end, ask "
            "for what there is with partial=True, or allow more with max_steps"
        )


def _steps_left(before: int, since: float, steps: int, t: float, t_end: float) -> float:
    """How many steps there are to go, by those from the time `since` to t."""
    grown = math.log(t / since) if t > since > 0 else 0.0
    ahead = math.log(t_end / t)
    if grown >= math.log(_STEADY):  # steps per decade
        return (steps - before) * ahead / grown
    if grown == 0.0:
        return math.inf
    # Time goes on like a power of the number of steps: the first power, most often.
    exponent = ahead * math.log(steps / max(before, 1)) / grown
    return steps * math.expm1(exponent) if exponent < 700 else math.inf


def _about(count: float) -> str:
    if count > 1e99:
        return "endlessly many"
    return f"about {count:.0e}".replace("e+0", "e").replace("e+", "e")


def _duration(seconds: float) -> str:
    for unit, size in (("years", 3.15e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * size:
            count = seconds / size
            return f"about {count:.0f} {unit}" if count < 1e6 else f"more than a million {unit}"
    return f"about {seconds / 60:.0f} minutes"
