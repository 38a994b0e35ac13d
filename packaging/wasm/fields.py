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
from runs.field_room import EXAMPLE_NOISE, FIELD_ROOM, splitting_room
from runs.pieces import EARLIER_MODEL, resume, start_clock, watch_of
from runs.resting import room_for, whole_advance
from runs.transformers import (
    EXAMPLE_FIELD,
    FIELD_REST_RUN,
    FieldRun,
    begin_field_rest,
    example_field_run,
    field_advance,
    read_field_rest,
)
from slots import TABLE, count, floats, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.field.field import Field
from parkade.engine.steps.brownian import BrownianNoise
from parkade.engine.steps.clock import STEP
from parkade.engine.steps.methods import METHODS
from parkade.engine.system import SMALL_D, unrolled
from parkade.explorer.standalone.shared import FIELD_OUTPUT, FIELD_REST, FIELD_STATE, INPUT, SLOTS
from parkade.runs import interpolation


class FieldInput(NamedTuple):
    """The start of a run of a transformer."""

    tokens: Array  # (n, d) in the frame; or (n, d + 1), with ln r
    times: Array  # (3,): the first time on the clock; when the model begins, and when it ends
    room: int  # the most steps of one call
    field: Field
    rests: bool  # whether tokens may rest on earlier ones, if the field lets them


class NoisyFieldInput(NamedTuple):
    """The start of a run with noise."""

    tokens: Array
    times: Array
    room: int
    field: Field
    noise: BrownianNoise
    wanted: Array  # increasing times at which steps are to end; the last is t_end
    step: float  # the first step


def field_entries(method: str) -> Entries:
    """All functions of an engine with their signatures, by the names that the page calls."""
    engine, dims, noisy = METHODS[method], unrolled(SMALL_D), method == "splitting"
    dense = engine.dense
    kind_of_input = typeof(_NOISY if noisy else _EXAMPLE)
    kind_of_state = typeof(example_field_run(method))
    assert count(kind_of_input) <= FIELD_OUTPUT
    assert FIELD_STATE + count(kind_of_state) <= FIELD_REST
    assert FIELD_REST + count(typeof(FIELD_REST_RUN)) <= SLOTS
    read_input, read_state = reader(kind_of_input), reader(kind_of_state)
    read_earlier = reader(typeof(EARLIER_MODEL))

    @register_jitable
    def start(table: Any, inputs: Any, work: Any) -> FieldRun:
        n, columns = inputs.tokens.shape
        start_clock(work.clock, inputs.times)
        steps = room_for(inputs.room, dense, n, columns)
        run = FieldRun(inputs.field, inputs.tokens, work, steps, inputs.times)
        write(table, FIELD_STATE, run)
        write(table, FIELD_OUTPUT, RunOutput(work.clock, inputs.tokens, steps, watch_of(work)))
        return run

    def begin_noisy(table: Any) -> None:
        inputs = read_input(table, INPUT)
        n, columns = inputs.tokens.shape
        work = splitting_room(n, columns, inputs.noise, inputs.wanted)
        work.clock[STEP] = inputs.step
        start(table, inputs, work)

    def begin(table: Any) -> None:
        inputs = read_input(table, INPUT)
        n, columns = inputs.tokens.shape
        start(table, inputs, make_room(inputs.field, n, columns))

    def begin_resting(table: Any) -> None:
        inputs = read_input(table, INPUT)
        n, columns = inputs.tokens.shape
        run = start(table, inputs, make_room(inputs.field, n, columns))
        rest = begin_field_rest(table, run, inputs.rests)
        output = RunOutput(rest.clock, rest.tokens, rest.steps, watch_of(run.work))
        write(table, FIELD_OUTPUT, output)

    make_room = None if noisy else FIELD_ROOM[method]

    def take_over(table: Any) -> None:
        state, before = read_state(table, FIELD_STATE), read_earlier(table, INPUT)
        resume(state.field, state.work, before)

    advance = advance_entry(engine.advance, dims, read_state, FIELD_STATE)
    if method == "implicit":
        one = field_advance(engine, read_state)
        begin = begin_resting
        advance = whole_advance(read_field_rest, FIELD_REST, one), advance[1]
    functions: Entries = {
        "begin_field": (begin_noisy if noisy else begin, types.void(TABLE)),
        "advance_field": advance,
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
_EXAMPLE = FieldInput(_TWO, _ONE, 1, EXAMPLE_FIELD, True)
_NOISY = NoisyFieldInput(_TWO, _ONE, 1, EXAMPLE_FIELD, EXAMPLE_NOISE, _ONE, 0.0)
