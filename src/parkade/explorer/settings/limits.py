"""How much one run may take, and the errors when it takes more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parkade.base.errors import ParkadeError
from parkade.base.types import Array
from parkade.explorer.settings.schema import FieldError
from parkade.explorer.settings.settings import Settings
from parkade.model.model import Model
from parkade.model.parts.norm import NGPT, Mix, Peri, Pre, Sqrt
from parkade.model.transformer import Transformer

if TYPE_CHECKING:
    from parkade.solve.planning.plan import Plan
    from parkade.solve.record import Record, Recorder
    from parkade.solve.steps import TakenSteps

TOL = 1e-6
TOO_FAR = (
    "T={T} would take about {steps} steps of {free} tokens ({reason}); choose T up to {longest}"
)
"""The sentence about a run that would take too many steps."""

STUCK = "{reason}; choose a smaller T, another V or post-norm"
"""The sentence about a run that does not come to its end."""

STOPPED = {
    "seconds": "stopped after {most} s",
    "token_steps": "stopped at {most} steps of single tokens",
    "memory": "stopped at {most} MiB of steps",
}
"""The beginnings of sentences about a run that reached a limit."""

STOPPED_AT = ", at t={t} after {steps} steps; choose a smaller T or n"
"""The ends of such sentences."""

STABLE_STEP = 3.3
"""The longest explicit step that is stable, times |V|."""


class CancelledError(ParkadeError):
    """The client no longer waits for the run."""


class TooLongError(ParkadeError):
    """A run reached one of its limits."""


@dataclass(frozen=True)
class Limits:
    """What one run may take.

    Attributes
    ----------
    token_steps : float
        Steps of single tokens, n·steps: a bound on what is stored, and on what is analysed.
    seconds : float
        Of CPU time, from the first step on, without compiling: other runs do not count.
    memory : float
        Bytes of stored steps.
    """

    token_steps: float = 2e7
    seconds: float = 60.0
    memory: float = 2.0**28

    def foresee(self, settings: Settings, plan: Plan) -> None:
        """Raise if a run by this plan is certain to take more steps than allowed."""
        if plan.method == "implicit":
            return
        free = settings.n - len(settings.held)
        steps = _steps(settings.layer, settings.T)
        if free * steps > self.token_steps:
            longest = self._longest(settings.layer, free)
            numbers = {"T": f"{settings.T:g}", "steps": f"{steps:.2g}", "longest": f"{longest:.2g}"}
            raise FieldError("T", TOO_FAR.format(free=free, reason=plan.reason, **numbers))

    def _longest(self, model: Transformer, free: int) -> float:
        """The largest T that is not refused."""
        low, high = -3.0, 60.0  # of log₁₀ T
        while high - low > 0.01:
            middle = (low + high) / 2
            fits = free * _steps(model, 10.0**middle) <= self.token_steps
            low, high = (middle, high) if fits else (low, middle)
        return float(10.0**low)


def tol_of(model: Model) -> float:
    """The tolerance of runs: coarser with noise, which needs many more steps."""
    from parkade.solve.options import default_tol

    return max(TOL, default_tol(model))


def _steps(model: Transformer, t: float) -> float:
    """A lower bound of the number of steps, however slowly the tokens move."""
    if model.noise is not None:
        from parkade.solve.lowering.brownian import longest_step

        return t / longest_step(model, tol_of(model))
    return _relaxations(model, t) / STABLE_STEP


def _relaxations(model: Transformer, t: float) -> float:
    """At least how often tokens relax until the time t, by the clock of the normalisation."""
    rate = model.rate
    match model.norm:
        case Pre():
            return math.log1p(rate * t)  # no token is longer than 1 + rate·t
        case Peri():
            return math.log1p(t)
        case Mix(tau):
            first = min(t, tau)
            return rate * first + math.log1p(rate * (t - first))
        case Sqrt():
            return 2 * rate * (math.sqrt(t + 1) - 1)
        case NGPT(alpha):
            return alpha * t
    return rate * t


class LimitedRecorder:
    """Stores the steps of a run, and raises when the run reaches its limits."""

    def __init__(self, x0: Array, limits: Limits, cancelled: Callable[[], bool]) -> None:
        self._limits, self._cancelled = limits, cancelled
        self._x0, self._n = x0, len(x0)
        self._begun: float | None = None
        self._advice = ""

    def start(self) -> LimitedRecorder:
        """Forget all steps; the clock goes on if the run starts again."""
        from parkade.solve.record import recorder

        self._keep: Recorder = recorder("steps", self._x0, self._x0.shape[1])
        self._steps = 0
        self._bytes = 0.0
        return self

    def checkpoint(self) -> None:
        """Raise if the client has left, or the time is over: that of the thread that computes."""
        if self._cancelled():
            raise CancelledError("cancelled")
        now = time.thread_time()
        self._begun = now if self._begun is None else self._begun
        if now - self._begun > self._limits.seconds:
            raise self._stopped("seconds", self._limits.seconds)

    def add(self, steps: TakenSteps) -> None:
        """Store some steps, or raise if there are too many of them."""
        self._steps += len(steps.times)
        each = self._x0.nbytes * (1 + steps.dense.shape[1])
        self._bytes += len(steps.times) * each
        self._advice = STOPPED_AT.format(t=f"{steps.times[-1]:.3g}", steps=self._steps)
        self.checkpoint()
        if self._steps * self._n > self._limits.token_steps:
            raise self._stopped("token_steps", self._limits.token_steps)
        if self._bytes > self._limits.memory:
            raise self._stopped("memory", self._limits.memory / 2**20)
        self._keep.add(steps)

    def _stopped(self, limit: str, most: float) -> TooLongError:
        return TooLongError(STOPPED[limit].format(most=f"{most:g}") + self._advice)

    def result(self) -> Record:
        """All steps stored since the start."""
        return self._keep.result()
