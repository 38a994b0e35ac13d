"""`Stepper`: what drives a run needs of an integrator, compiled or not."""

from __future__ import annotations

from typing import Any, Protocol

from parkade.base.types import Array

Steps = tuple[Array, Array, Array]
"""Ends of some steps: times (s,), tokens (s, n, d), and dense output (s, p, n, d)."""


class Stepper(Protocol):
    """An integrator in the middle of a run.

    Attributes
    ----------
    stages : int
        Velocities per step.
    dense : int
        Arrays that dense output needs per step.
    """

    stages: int
    dense: int

    def __enter__(self) -> Stepper:
        """Begin: integrators may need settings of the whole process while they run."""

    def __exit__(self, *error: Any) -> None:
        """Undo these."""

    @property
    def time(self) -> float:
        """The time reached."""

    @property
    def rejected(self) -> int:
        """Steps that were tried and rejected."""

    def advance(self, most: int) -> Steps | None:
        """Take at most this many steps; None if they became too short.

        The arrays, in the coordinates of the model, are good until the next call.
        """

    def check(self) -> None:
        """Raise `InaccurateSumsError` if the sums are not as accurate as they should be."""

    def trusted_until(self) -> float:
        """The time beyond which rounding, not the model, may move tokens by more than tol."""
