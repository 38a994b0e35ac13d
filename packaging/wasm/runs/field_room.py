"""Workspaces of transformers by functions that can be compiled, like `room` for one head."""

from __future__ import annotations

from typing import Any

import numpy as np
from runs.room import CLOCK, set_clock
from slots import floats, integers

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import WIDTH
from parkade.engine.field.field import Field
from parkade.engine.field.linear import Linear
from parkade.engine.field.projections import Projections
from parkade.engine.jacobian.linearization import padded
from parkade.engine.steps import explicit, splitting
from parkade.engine.steps.brownian import BrownianNoise
from parkade.engine.steps.field_stages import FieldWork
from parkade.engine.steps.stages import STAGES
from parkade.engine.steps.trust import PLACE


@njit()
def _explicit(field: Field, n: int, columns: int) -> explicit.ExplicitWork:
    clock, stages = floats((CLOCK.size,)), floats((7, n, columns))
    set_clock(clock)
    y, error = floats((n, columns)), floats((n, columns))
    watch = floats((n, PLACE + field.own_value.shape[0]))
    return explicit.ExplicitWork(clock, stages, y, error, watch)


@njit()
def _projections(field: Field, n: int) -> Projections:
    """The workspace of projections of tokens, like `projections.allocate_projections`."""
    count, ranks, width = field.keys.shape[0], field.values.shape[0], padded(n)
    return Projections(
        floats((n, field.own_value.shape[0])),
        floats((count, width)),
        floats((count, width)),
        floats((ranks, width)),
    )


@njit()
def _linear(field: Field, n: int, columns: int) -> Linear:
    """The workspace of the Jacobian of a transformer, like `field.linear.allocate`."""
    heads, size = field.slopes.size, columns - 1
    offsets = integers((n + 1,))
    for k in range(n):
        offsets[k + 1] = offsets[k] + k - max(0, k - field.window + 1)
    return Linear(
        projections=_projections(field, n),
        weights=floats((heads * offsets[n],)),
        offsets=offsets,
        own=floats((n, heads)),
        mean=floats((n, field.values.shape[0])),
        force=floats((n, field.own_value.shape[0])),
        factors=floats((n, 4)),
        shares=floats((2, n)),
        axes=integers((n,)),
        velocity=floats((n, columns)),
        blocks=floats((n, size, size)),
        keys=floats((field.keys.shape[0], padded(n))),
        values=floats((field.values.shape[0], padded(n))),
        time=floats((1,)),
    )


@njit()
def _implicit(field: Field, n: int, columns: int) -> FieldWork:
    """The workspace of implicit steps of a transformer, like `field_stages.workspace`."""
    clock, size = floats((CLOCK.size,)), columns - 1
    set_clock(clock)
    return FieldWork(
        clock=clock,
        growth=floats((n,)),
        place=floats((n, field.own_value.shape[0])),
        noise=floats((n,)),
        watch=floats((n, PLACE + field.own_value.shape[0])),
        lin=_linear(field, n, columns),
        u=floats((STAGES, columns, padded(n))),
        y=floats((n, columns)),
        slope=floats((n, columns)),
        whole=None,
        inverses=floats((n, size, -(-size // WIDTH) * WIDTH)),
        audited=floats((n, field.own_value.shape[0])),
    )


@njit()
def splitting_room(
    n: int, columns: int, noise: BrownianNoise, wanted: Array
) -> splitting.SplittingWork:
    """The workspace of steps with noise that end at the times `wanted`: `splitting.workspace`."""
    clock = floats((CLOCK.size,))
    set_clock(clock)
    return splitting.SplittingWork(
        clock,
        noise,
        wanted,
        floats((2,)),
        floats((n, columns)),
        floats((n, columns)),
        floats((n, columns)),
        floats((n, columns)),
        floats((n, columns)),
    )


FIELD_ROOM: dict[str, Any] = {"explicit": _explicit, "implicit": _implicit}
"""Functions of a field, n and the columns of a state that make a workspace, by method."""

_ONE, _TWO, _THREE, _WHOLE = np.empty(1), np.empty((1, 1)), np.empty((1, 1, 1)), np.empty(1, int)
EXAMPLE_NOISE = BrownianNoise(0.0, False, 0.0, np.empty(1, np.uint64))
FIELD_WORK: dict[str, Any] = {
    "explicit": explicit.ExplicitWork(_ONE, _THREE, _TWO, _TWO, _TWO),
    "implicit": FieldWork(
        clock=_ONE,
        growth=_ONE,
        place=_TWO,
        noise=_ONE,
        watch=_TWO,
        lin=Linear(
            projections=Projections(_TWO, _TWO, _TWO, _TWO),
            weights=_ONE,
            offsets=_WHOLE,
            own=_TWO,
            mean=_TWO,
            force=_TWO,
            factors=_TWO,
            shares=_TWO,
            axes=_WHOLE,
            velocity=_TWO,
            blocks=_THREE,
            keys=_TWO,
            values=_TWO,
            time=_ONE,
        ),
        u=_THREE,
        y=_TWO,
        slope=_TWO,
        whole=None,
        inverses=_THREE,
        audited=_TWO,
    ),
    "splitting": splitting.SplittingWork(_ONE, EXAMPLE_NOISE, _ONE, _ONE, *(_TWO,) * 5),
}
"""Examples of these workspaces, which give the types of their parts."""
