"""`Stepper`: the interface of integrators, compiled or not."""

from __future__ import annotations

from typing import Any, Protocol

from parkade.base.types import Array

_VANISHING = -7.0  # ln r, when steps are too short

Steps = tuple[Array, Array, Array]
"""Ends of some steps: times (s,), tokens (s, n, d), and dense output (s, p, n, d)."""


class Stepper(Protocol):
    """An integrator in the middle of a run.

    Attributes
    ----------
    stages : int
        Velocities per step.
    dense : int
        Arrays of dense output per step.
    code : str
        What computes the steps; with another one the last bits may differ.
    span : (float, float)
        The times between which the same model moves the tokens.
    """

    stages: int
    dense: int
    code: str
    span: tuple[float, float]

    def __enter__(self) -> Stepper:
        """Start; an integrator may change process-wide settings while it runs."""

    def __exit__(self, *error: Any) -> None:
        """Restore these settings."""

    @property
    def time(self) -> float:
        """The time reached."""

    @property
    def rejected(self) -> int:
        """The number of rejected steps."""

    def end(self) -> object:
        """What the next stepper wants to know of this one, without the memory that steps need."""

    def resume(self, end: object) -> None:
        """Take over from a stepper at its `end`, which is the start of this one."""

    def advance(self, most: int) -> Steps | None:
        """Take at most this many steps; None if they became too short.

        The arrays, in the coordinates of the model, are valid until the next call.
        """

    def collapse(self) -> str:
        """Why steps became too short: a token whose length falls to 0 there. Empty otherwise."""

    def check(self) -> None:
        """Raise `InaccurateSumsError` if the error of the sums exceeds their bound."""

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol."""


def vanishing(state: Array, d: int, time: float) -> str:
    """Which token of a state has almost no length left, as a sentence; empty if none.

    A force against the direction of a token makes it shorter and, under pre- and peri-norm, faster.
    It may lose all of its length in a finite time, and then it has no direction.
    """
    logs = state[:, d:]
    if not logs.size or logs.min() > _VANISHING:
        return ""
    return (
        f"the length of token {int(logs[:, 0].argmin())} falls to 0 at t={time:g}, where it has no "
        "direction; end the run before, or start with larger radii"
    )
