"""Tokens at rest in any transformer: who may rest, how far from leaders, and with which weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import exp2
from parkade.engine.field.field import EVERYTHING, Field
from parkade.engine.field.linear import Linear, linearize
from parkade.engine.rest import leaders
from parkade.engine.steps.clock import TIME

_SMALLEST = 900.0  # 2 to the power of minus this is a weight that still counts


class FieldTokens(NamedTuple):
    """A transformer with all its tokens, which measures how far these are from their leaders."""

    field: Field
    lin: Linear  # working arrays, which any step may overwrite
    clock: Array


@register_jitable
def may_rest(field: Field) -> bool:
    """Whether tokens may rest on earlier ones, if they gather."""
    # Turned keys differ from token to token, whatever their places are. Weights are relative to the
    # largest score, also of keys that a token does not see: next to one of these, all that it sees
    # could be lost.
    whole = field.window == EVERYTHING and not field.slopes.any()
    near = 2.0 * field.query[0, 0] < _SMALLEST
    return bool(field.causal and not field.turns.any() and (whole or near))


@njit(allocates=True)
def set_lags(model: FieldTokens, x: Array, leader: NDArray[np.int64], lag: Array) -> None:
    """Set how far tokens are from their leaders, by velocities and blocks of all tokens at x."""
    field, lin = model.field, model.lin
    field.now[0] = field.origin + model.clock[TIME]
    linearize(field, x, lin)
    scales = field.value[0, 0] * lin.factors[:, 0]
    leaders.set_lags(x, lin.velocity, lin.blocks, scales, field.own_value.shape[0], leader, lag)


@njit()
def set_factors(
    field: Field, moving: NDArray[np.int64], rows: NDArray[np.int64], factors: Array
) -> None:
    """Set the factors (H, m, m) of weights of moving tokens: all tokens at one place together.

    `factors` are 0 so far. `rows` has the place of each token. A token counts where the mask lets
    it be seen, less by its distance in the sequence if the head has a slope.
    """
    for h in range(field.slopes.size):
        slope = field.slopes[h]
        for i in range(moving.size):
            k = moving[i]
            for j in range(max(0, k - field.window + 1), k + 1):
                weight = exp2(-slope * (k - j)) if slope != 0.0 else 1.0
                factors[h, i, rows[j]] += weight
