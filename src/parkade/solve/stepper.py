"""`Stepper`: the interface of integrators, compiled or not."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from parkade.base import check
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.model.transformer import Transformer

_VANISHING = -7.0  # ln r, when steps are too short
_GONE = -115.0  # ln of a length that counts as 0, relative to the first one: 1e-50
_NOTHING = 1e-10  # size of a force relative to the rate of the model

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
        """Restore the settings of the process."""

    @property
    def time(self) -> float:
        """The time of the last step."""

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
        """Why steps became too short, if a token has no motion there; empty otherwise."""

    def check(self) -> None:
        """Raise `InaccurateSumsError` if the error of the sums exceeds their bound."""

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol."""

    def resting(self) -> int:
        """The number of first tokens that were at rest at the start."""


def vanishing(model: Model, state: Array, time: float) -> str:
    """Which token of a state has no motion, as a sentence; empty if all have one.

    A force against the direction of a token makes it shorter and, under pre- and peri-norm, faster.
    It may lose all of its length in a finite time, and then it has no direction. Under peri-norm
    and nGPT a token has no speed where the force is zero.
    """
    tokens, logs = state[:, : model.d], state[:, model.d :]
    if logs.size and logs.min() < _VANISHING:
        shorter = "" if logs.min() < _GONE else ", or use method='implicit', for shorter steps"
        return (
            f"the length of token {int(logs[:, 0].argmin())} falls to 0 at t={time:g}, where it "
            f"has no direction; end the run before, or start with larger radii{shorter}"
        )
    if isinstance(model, Transformer) and model.norm.uses_force:
        sizes = np.linalg.norm(model.force(tokens, t=time), axis=1)
        if not sizes.min() > _NOTHING * model.rate:
            return undefined(model, int(sizes.argmin()), f"at t={time:g}")
    return ""


def has_vanished(first: Array, state: Array, d: int) -> bool:
    """Whether a token of a state has lost all of the length that it had in the first one.

    A token that passes the origin closely becomes longer again. The steps of the implicit method
    may be as short as that takes.
    """
    return state.shape[1] > d and bool((state[:, d:] - first[:, d:] < _GONE).any())


def undefined(model: Model, token: int, when: str) -> str:
    """That a model gives a token no velocity, as a sentence."""
    if isinstance(model, Transformer) and model.norm.uses_force:
        return (
            f"token {token} feels no force {when}, and its speed under {model.norm}-norm is the "
            "force divided by its size; use another norm"
        )
    return (
        f"{check.brief(model)} gives token {token} a velocity {when} that is not a finite number; "
        "end the run before, or use another model"
    )


def broken(states: Array) -> int | None:
    """The first token of states (..., n, columns) that is not finite, or None."""
    finite = np.isfinite(states).all(axis=-1)
    return None if finite.all() else int(np.argwhere(~finite)[0][-1])
