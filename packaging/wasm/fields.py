"""Functions that a page calls for transformers; those for one plain head are in `entries`.

The code is the same for all dimensions and all parts. States have one column more than the tokens
if these have lengths: ln r. A run with noise needs more input, with a first step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from entries import STEP_MOMENT, Entries, RunOutput, advance_entry, eigenvalues_entry
from numba import typeof, types
from numba.extending import register_jitable
from runs.field_room import EXAMPLE_NOISE, FIELD_ROOM, FIELD_WORK, splitting_room
from runs.pieces import EARLIER_MODEL, resume, start_clock, watch_of
from slots import TABLE, count, floats, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.field.field import Field
from parkade.engine.steps.brownian import BrownianNoise
from parkade.engine.steps.clock import STEP
from parkade.engine.steps.integrator import Steps
from parkade.engine.steps.methods import METHODS
from parkade.engine.system import SMALL_D, unrolled
from parkade.explorer.standalone.shared import FIELD_OUTPUT, FIELD_STATE, INPUT, SLOTS
from parkade.runs import interpolation


class FieldInput(NamedTuple):
    """The start of a run of a transformer."""

    tokens: Array  # (n, d) in the frame; or (n, d + 1), with ln r
    times: Array  # (3,): the first time on the clock; when the model begins, and when it ends
    room: int  # the most steps of one call
    field: Field


class NoisyFieldInput(NamedTuple):
    """The start of a run with noise."""

    tokens: Array
    times: Array
    room: int
    field: Field
    noise: BrownianNoise
    wanted: Array  # increasing times at which steps are to end; the last is t_end
    step: float  # the first step


class FieldRun(NamedTuple):
    """The state of a run between calls."""

    field: Field
    tokens: Array
    work: Any
    steps: Steps
    times: Array


def field_entries(method: str) -> Entries:
    """All functions of an engine with their signatures, by the names that the page calls."""
    engine, dims, noisy = METHODS[method], unrolled(SMALL_D), method == "splitting"
    dense = engine.dense
    kind_of_input = typeof(_NOISY if noisy else _EXAMPLE)
    kind_of_state = typeof(FieldRun(_FIELD, _TWO, FIELD_WORK[method], _STEPS, _ONE))
    assert count(kind_of_input) <= FIELD_OUTPUT
    assert FIELD_STATE + count(kind_of_state) <= SLOTS
    read_input, read_state = reader(kind_of_input), reader(kind_of_state)
    read_earlier = reader(typeof(EARLIER_MODEL))

    @register_jitable
    def finish(table: Any, inputs: Any, work: Any) -> None:
        n, columns = inputs.tokens.shape
        steps = Steps(
            floats((inputs.room,)),
            floats((inputs.room, n, columns)),
            floats((inputs.room, dense, n, columns)),
        )
        start_clock(work.clock, inputs.times)
        write(table, FIELD_STATE, FieldRun(inputs.field, inputs.tokens, work, steps, inputs.times))
        write(table, FIELD_OUTPUT, RunOutput(work.clock, inputs.tokens, steps, watch_of(work)))

    def begin_noisy(table: Any) -> None:
        inputs = read_input(table, INPUT)
        n, columns = inputs.tokens.shape
        work = splitting_room(n, columns, inputs.noise, inputs.wanted)
        work.clock[STEP] = inputs.step
        finish(table, inputs, work)

    def begin(table: Any) -> None:
        inputs = read_input(table, INPUT)
        n, columns = inputs.tokens.shape
        finish(table, inputs, make_room(inputs.field, n, columns))

    make_room = None if noisy else FIELD_ROOM[method]

    def take_over(table: Any) -> None:
        state, before = read_state(table, FIELD_STATE), read_earlier(table, INPUT)
        resume(state.field, state.work, before)

    functions: Entries = {
        "begin_field": (begin_noisy if noisy else begin, types.void(TABLE)),
        "advance_field": advance_entry(engine.advance, dims, read_state, FIELD_STATE),
        "interpolate": _interpolate(method),
    }
    if not noisy:
        functions["resume_field"] = take_over, types.void(TABLE)
    if method == "implicit":
        functions["eigenvalues"] = eigenvalues_entry()
    return functions


def _interpolate(method: str) -> tuple[Callable[..., Any], Any]:
    """The function that computes a state inside a step: tokens, and their ln r if any."""
    read, inside = reader(typeof(STEP_MOMENT)), METHODS[method].interpolate
    between = njit()(interpolation.BETWEEN[method])

    def interpolate(table: Any, theta: float, dimension: int) -> None:
        start, end, dense, out = read(table, INPUT)
        n, columns = start.shape
        d = np.int64(dimension)
        left, right, result = floats((n, d)), floats((n, d)), floats((n, d))
        bends = floats((dense.shape[0], n, d))
        for k in range(n):
            for c in range(d):
                left[k, c], right[k, c] = start[k, c], end[k, c]
                for i in range(dense.shape[0]):
                    bends[i, k, c] = dense[i, k, c]
        inside(theta, left, right, bends, result)
        for k in range(n):
            for c in range(d):
                out[k, c] = result[k, c]
            for c in range(d, columns):
                out[k, c] = between(theta, start[k, c], end[k, c], dense[:, k, c])

    return interpolate, types.void(TABLE, types.float64, types.int32)


_ONE, _TWO = np.empty(1), np.empty((1, 1))
_STEPS = Steps(_ONE, np.empty((1, 1, 1)), np.empty((1, 1, 1, 1)))
_FIELD = Field(
    queries=_TWO,
    keys=_TWO,
    reach=_ONE,
    values=_TWO,
    outputs=_TWO,
    own_value=_TWO,
    leading=0.0,
    slopes=_ONE,
    turns=_TWO,
    inner=_TWO,
    inner_bias=_ONE,
    outer=_TWO,
    outer_bias=_ONE,
    activation=0,
    norm=0,
    alpha=0.0,
    window=0,
    prefix=0,
    causal=True,
    origin=0.0,
    now=_ONE,
    query=_TWO,
    value=_TWO,
    accuracy=0.0,
    floor=0.0,
    stretch=0.0,
    table=None,
    followers=np.empty((1, 1, 1)),
)
_EXAMPLE = FieldInput(_TWO, _ONE, 1, _FIELD)
_NOISY = NoisyFieldInput(_TWO, _ONE, 1, _FIELD, EXAMPLE_NOISE, _ONE, 0.0)
