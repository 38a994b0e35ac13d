"""How much work one run may be, and the sentence when it is more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from parkade.base.errors import ParkadeError
from parkade.base.types import Array
from parkade.explorer.settings import FieldError, Settings
from parkade.solve.options import Options
from parkade.solve.record import Kept, Recorder, recorder
from parkade.solve.solver import Solver

TOL = 1e-6
_STABLE = 3.3  # |V| times the longest explicit step that does not blow up


class CancelledError(ParkadeError):
    """Nobody waits for the result any more."""


class TooLongError(ParkadeError):
    """A limit was reached on the way."""


@dataclass(frozen=True)
class Limits:
    """What one run may take.

    Attributes
    ----------
    work : float
        Token-steps, n·steps: a bound on what is kept, and on what is looked at afterwards.
    seconds : float
        From the first step on, without compiling.
    memory : float
        Bytes of steps kept.
    """

    work: float = 2e7
    seconds: float = 60.0
    memory: float = 2.0**28

    def foresee(self, settings: Settings) -> None:
        """Raise if the run is bound to take more steps than allowed."""
        free = settings.n - len(settings.held)
        frozen = settings.start[settings.held] if len(settings.held) else None
        plan = Solver(settings.model, Options(settings.T, tol=TOL, frozen=frozen)).plan(free)
        if plan.method == "implicit":
            return
        # However slowly the tokens move, explicit steps cannot grow beyond this.
        steps = settings.T * settings.model.rate / _STABLE
        if free * steps > self.work:
            longest = self.work / (free * steps) * settings.T
            raise FieldError(
                "T",
                f"T={settings.T:g} would take about {steps:.2g} steps of {free} tokens "
                f"({plan.reason}); choose T up to {longest:.2g}",
            )


class Watch:
    """Keeps the steps of a run, and stops it when it goes beyond the limits."""

    def __init__(self, x0: Array, limits: Limits, cancelled: Callable[[], bool]) -> None:
        self._limits, self._cancelled = limits, cancelled
        self._x0, self._n = x0, len(x0)
        self._begun: float | None = None

    def start(self) -> Watch:
        """Keep nothing yet; time goes on if this is another start."""
        self._keep: Recorder = recorder("steps", self._x0, "")
        self._steps = 0
        self._bytes = 0.0
        return self

    def pause(self) -> None:
        """Raise if nobody waits any more, or the time is over."""
        if self._cancelled():
            raise CancelledError("cancelled")
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        if now - self._begun > self._limits.seconds:
            raise TooLongError(f"stopped after {self._limits.seconds:g} s{self._advice}")

    def add(self, times: Array, tokens: Array, dense: Array) -> None:
        """Take some steps."""
        self._steps += len(times)
        self._bytes += tokens.nbytes + dense.nbytes
        self._advice = f", at t={times[-1]:.3g} after {self._steps} steps; choose a smaller T or n"
        self.pause()
        if self._steps * self._n > self._limits.work:
            raise TooLongError(
                f"stopped at {self._limits.work:g} steps of single tokens{self._advice}"
            )
        if self._bytes > self._limits.memory:
            raise TooLongError(
                f"stopped at {self._limits.memory / 2**20:g} MiB of steps{self._advice}"
            )
        self._keep.add(times, tokens, dense)

    def result(self) -> Kept:
        """Everything kept."""
        return self._keep.result()

    _advice = ""
