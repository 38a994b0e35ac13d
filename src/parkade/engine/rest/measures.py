"""How far tokens are from their leaders: chosen by the model when code is compiled.

States have ln r if they have more columns than the tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle, njit
from parkade.engine.rest import field_rest, lumps
from parkade.engine.rest.field_rest import FieldTokens
from parkade.engine.rest.lumps import Tokens
from parkade.engine.rest.rest_state import MOVING, RestState, spread
from parkade.engine.system import System


def _of_head(model: Any, state: Any, x: Any, leader: Any) -> bool:
    """Set distances of the tokens of one head, by sums over lumps."""
    tokens = Tokens(state.moving[: state.counts[MOVING]], state.rows, leader)
    return lumps.set_lags(model, x, tokens, state.sharpness, state.lag)


def _of_field(model: Any, state: Any, x: Any, leader: Any) -> bool:
    """Set distances of the tokens of a transformer, by its velocities and blocks."""
    field_rest.set_lags(model, whole(state, model, x), leader, state.lag)
    return True


def measure(model: Any, state: RestState, x: Array, leader: NDArray[np.int64]) -> bool:
    """Set how far tokens are from their leaders, or would be; False if that is not known."""
    set_lags = _of_field if isinstance(model, FieldTokens) else _of_head
    return set_lags(model, state, x, leader)


@overload(measure)
def _choose_measure(model: Any, state: Any, x: Any, leader: Any) -> Any:
    if is_bundle(model, FieldTokens):
        return _of_field
    return _of_head if is_bundle(model, System) else None


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


@register_jitable
def whole(state: RestState, model: Any, x: Array) -> Array:
    """The state of all tokens, where the moving ones are at `x`."""
    out: Array = np.empty((1, *state.x.shape))
    spread(x.reshape((1, *x.shape)), state.rows, out)
    if have_lengths(model, x, state.audited.shape[1]):
        lengthen(out, np.empty((1, 0, *state.x.shape)), state.longer)
    return out.reshape(state.x.shape)


@njit()
def lengthen(tokens: Array, dense: Array, longer: Array) -> None:
    """Give resting tokens their own lengths, in states (s, n, d + 1) and their dense output.

    A resting token grows like its leader: r_k − r_u stays the same, and `longer` has it for each
    token. So far all have the lengths of their leaders; the last column is ln r.
    """
    last = tokens.shape[2] - 1
    for k in range(longer.size):
        if longer[k] == 0.0:
            continue
        for s in range(tokens.shape[0]):
            leader = np.exp(tokens[s, k, last])
            length = leader + longer[k]
            tokens[s, k, last] = np.log(length)
            for i in range(dense.shape[1]):
                dense[s, i, k, last] *= leader / length
