"""The clock of a run: what an integrator knows between calls, by its places in one array."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array

TIME = 0  # reached so far
STEP = 1  # size of the next step
OLD_STEP = 2  # size of the last accepted one; only the implicit method needs it
ERROR = 3  # of the last accepted step, relative to tol
REJECTED = 4  # number of steps
DRIFT = 5  # how far rounding may have moved the tokens since the model did; see `trust`
TRUSTED = 6  # when what rounding may have done exceeds tol; infinite as long as it does not
STARTED = 7  # whether the run has begun
LIMIT = 8  # how far tokens may move before a call ends; 0 if there is no limit; see `rest`
_SIZE = 9


def new_clock() -> Array:
    """A clock at time 0. If its step is not set before a run begins, the integrator sets it."""
    clock = np.zeros(_SIZE)
    clock[TRUSTED] = np.inf
    return clock
