"""How far tokens are from their leaders: chosen by the model when code is compiled.

As Python runs these functions, a model has `measure` as a method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle
from parkade.engine.steps import lumps
from parkade.engine.steps.lumps import Tokens
from parkade.engine.steps.rest_state import MOVING, RestState
from parkade.engine.system import System


def measure(model: Any, state: RestState, x: Array, leader: NDArray[np.int64]) -> bool:
    """Set how far tokens are from their leaders, or would be; False if that is not known."""
    return bool(model.measure(state, x, leader))


@overload(measure)
def _choose_measure(model: Any, state: Any, x: Any, leader: Any) -> Any:
    def of_head(model: Any, state: Any, x: Any, leader: Any) -> Any:
        tokens = Tokens(state.moving[: state.counts[MOVING]], state.rows, leader)
        return lumps.set_lags(model, x, tokens, state.sharpness, state.lag)

    return of_head if is_bundle(model, System) else None


def have_lengths(model: Any, x: Array, d: int) -> bool:
    """Whether tokens have lengths; compiled code knows that those of a head have none."""
    return bool(x.shape[1] > d)


@overload(have_lengths)
def _choose_lengths(model: Any, x: Any, d: Any) -> Any:
    def of_head(model: Any, x: Any, d: Any) -> Any:
        return False

    def of_field(model: Any, x: Any, d: Any) -> Any:
        return x.shape[1] > d

    return of_head if is_bundle(model, System) else of_field
