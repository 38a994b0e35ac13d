"""The clock of a run: what an integrator knows between calls, by its places in one array."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.jit import njit

TIME = 0  # reached so far
STEP = 1  # size of the next step
OLD_STEP = 2  # size of the last accepted one; only the implicit method needs it
ERROR = 3  # of the last accepted step, relative to tol
REJECTED = 4  # number of steps
MOTION = 5  # until when the model, and not rounding, has moved the tokens; see `note_motion`
TRUSTED = 6  # when what rounding may have done exceeds tol, as far as the integrator can tell
STARTED = 7  # whether the run has begun
_SIZE = 8


def new_clock() -> Array:
    """A clock at time 0. If its step is not set before a run begins, the integrator sets it."""
    clock = np.zeros(_SIZE)
    clock[TRUSTED] = np.inf
    return clock


@njit()
def note_motion(
    clock: Array, start: float, end: float, speed: float, noise: float, tol: float
) -> None:
    """Keep in clock[MOTION] until when the model, and not rounding, has moved the tokens.

    Once rounding has had the time to move them by `tol`, later motion may be due to it.
    """
    if speed > noise and start - clock[MOTION] <= tol / noise:
        clock[MOTION] = end
