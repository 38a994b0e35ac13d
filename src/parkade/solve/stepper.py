"""`Stepper`: the interface of integrators, compiled or not."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from parkade.base import check
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.model.transformer import Transformer
from parkade.solve.steps import RestRecord, TakenSteps

_VANISHING = -7.0  # if steps are too short, a token with a smaller ln r is the cause
_GONE = -115.0  # ln of a length that counts as 0, relative to the initial one: 1e-50
_NOTHING = 1e-10  # size of a force that counts as 0, relative to the rate of the model


class Stepper(Protocol):
    """An integrator in the middle of a run.

    Attributes
    ----------
    stages : int
        Number of evaluations of the velocity per step.
    dense : int
        Number of arrays of dense output per step.
    code : str
        The versions of what computes the steps; with others the last bits may differ.
    span : (float, float)
        When the model that moves the tokens at present begins and ends.
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
        """Return what the next stepper needs from this one, without the workspace of the steps."""

    def resume(self, end: object) -> None:
        """Continue from the `end` of the previous stepper, which is the start of this one."""

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most this many steps, at least one; None if they became too short.

        The arrays, in the coordinates of the model, are valid until the next call.
        """

    def rest_record(self) -> RestRecord:
        """How tokens have rested so far, while others moved."""

    def collapse(self) -> str:
        """A sentence on why steps became too short; empty if all velocities are defined there."""

    def check(self) -> None:
        """Raise `InaccurateSumsError` if the error of the sums exceeds their bound."""

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol."""

    def resting(self) -> int:
        """The number of tokens, counted from the first one, that were at rest at the start."""


def vanishing(model: Model, state: Array, time: float) -> str:
    """A sentence that names a token whose motion is undefined; empty if there is none.

    A force against the direction of a token makes it shorter and, under pre- and peri-norm, faster.
    It may lose all of its length in a finite time, and then it has no direction. Under peri-norm
    and nGPT the speed of a token is undefined where the force is zero.
    """
    tokens, logs = state[:, : model.d], state[:, model.d :]
    if logs.size and logs.min() < _VANISHING:
        shorter = "" if logs.min() < _GONE else ", or use method='implicit', for shorter steps"
        return (
            f"the length of token {int(logs[:, 0].argmin())} falls to 0 at t={time:g}, where it "
            f"has no direction; end the run earlier, or start with larger radii{shorter}"
        )
    if isinstance(model, Transformer) and model.norm.uses_force:
        sizes = np.linalg.norm(model.force(tokens, t=time), axis=1)
        if not sizes.min() > _NOTHING * model.rate:
            return undefined(model, int(sizes.argmin()), f"at t={time:g}")
    return ""


def has_vanished(first: Array, state: Array, d: int) -> bool:
    """Whether a token has lost practically all of the length that it had in the first state.

    A token that passes close to the origin becomes longer again, and the implicit method can take
    steps that are short enough to follow it.
    """
    return state.shape[1] > d and bool((state[:, d:] - first[:, d:] < _GONE).any())


def undefined(model: Model, token: int, when: str) -> str:
    """A sentence that says that the velocity of a token is undefined."""
    if isinstance(model, Transformer) and model.norm.uses_force:
        return (
            f"token {token} feels no force {when}, and its speed under {model.norm}-norm is the "
            "force divided by its size; use another norm"
        )
    return (
        f"{check.brief(model)} gives token {token} a velocity {when} that is not a finite number; "
        "end the run earlier, or use another model"
    )


def broken(states: Array) -> int | None:
    """The index of the first token that is not finite in states (..., n, columns), or None."""
    finite = np.isfinite(states).all(axis=-1)
    return None if finite.all() else int(np.argwhere(~finite)[0][-1])
