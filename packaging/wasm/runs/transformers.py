"""Runs of transformers in which tokens may rest: what `FieldStepper` does with the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from numba.extending import register_jitable
from runs.field_room import FIELD_ROOM, FIELD_WORK
from runs.resting import (
    RestRun,
    example_rest,
    finisher,
    known_of,
    looking_advance,
    part_of,
    rest_run,
    room_for,
    stepping,
)
from slots import count, floats, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.field.field import EVERYTHING, Field
from parkade.engine.rest import rest_state
from parkade.engine.rest.field_rest import FieldTokens, may_rest, set_factors
from parkade.engine.rest.rest_state import MOVING, RestState
from parkade.engine.steps.integrator import Integrator, Steps
from parkade.engine.system import SMALL_D, unrolled
from parkade.engine.vectors import copy
from parkade.explorer.standalone.shared import FIELD_REST, FIELD_STATE


class FieldRun(NamedTuple):
    """The state of a run between calls."""

    field: Field
    tokens: Array
    work: Any
    steps: Steps
    times: Array


_ONE, _TWO = np.empty(1), np.empty((1, 1))
EXAMPLE_FIELD = Field(
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
"""A transformer, which gives the types of its parts."""


def example_field_run(method: str) -> FieldRun:
    """A run of a method, which gives the types of its parts."""
    steps = Steps(_ONE, np.empty((1, 1, 1)), np.empty((1, 1, 1, 1)))
    return FieldRun(EXAMPLE_FIELD, _TWO, FIELD_WORK[method], steps, _ONE)


_EXAMPLE_TOKENS = FieldTokens(EXAMPLE_FIELD, FIELD_WORK["implicit"].lin, _ONE)
FIELD_REST_RUN = example_rest(_EXAMPLE_TOKENS)
_PART = FIELD_REST + count(typeof(FIELD_REST_RUN[0]))
read_field_rest = reader(typeof(FIELD_REST_RUN))


@njit()
def _followed(field: Field, state: RestState) -> Field:
    """The transformer of the tokens that move, with the others as followers."""
    m, heads = state.counts[MOVING], field.slopes.size
    factors = floats((heads, m, m))
    set_factors(field, state.moving[:m], state.rows, factors)
    return Field(
        field.queries,
        field.keys,
        field.reach,
        field.values,
        field.outputs,
        field.own_value,
        field.leading,
        floats((heads,)),  # no slopes: the factors have them
        field.turns,
        field.inner,
        field.inner_bias,
        field.outer,
        field.outer_bias,
        field.activation,
        field.norm,
        field.alpha,
        EVERYTHING,
        field.prefix,
        field.causal,
        field.origin,
        field.now,
        field.query,
        field.value,
        field.accuracy,
        field.floor,
        field.stretch,
        None,
        factors,
    )


@register_jitable
def begin_field_rest(table: Any, run: FieldRun, rests: bool) -> RestRun:
    """Let tokens of a new run rest, if they may; returns what it has beside its steps."""
    field, tokens, work, steps, times = run
    allowed = rests and may_rest(field)
    state, chosen = rest_run(tokens, known_of(work), field.query, allowed)
    everything, before = floats(tokens.shape), floats(tokens.shape)
    copy(tokens, everything)
    n, columns = tokens.shape
    own = room_for(steps.times.size, steps.dense.shape[1], n, columns)
    model = FieldTokens(field, work.lin, work.clock)
    rest = RestRun(state, everything, before, own, work.clock, times, chosen, model)
    write(table, FIELD_REST, (rest, part_of(run)))
    return rest


def field_advance(engine: Integrator, read: Callable[..., Any]) -> Callable[..., int]:
    """The function that takes steps up to the next look, and looks."""
    make_room, dense = FIELD_ROOM[engine.name], engine.dense

    @njit()
    def rearrange(table: Any) -> None:
        rest, _ = read_field_rest(table, FIELD_REST)
        # Reads the transformer of all tokens, not that of the ones that moved so far.
        field = _followed(rest.model.field, rest.state)
        m, columns = rest.state.counts[MOVING], rest.tokens.shape[1]
        x, work = floats((m, columns)), make_room(field, m, columns)
        copy(rest.clock, work.clock)
        rest_state.hand_over(rest.state, x, known_of(work))
        rest_state.arm(rest.state, work.audited, work.clock)
        steps = room_for(rest.steps.times.size, dense, m, columns)
        run = FieldRun(field, x, work, steps, rest.times)
        write(table, FIELD_STATE, run)
        write(table, _PART, part_of(run))

    take = stepping(engine.advance, unrolled(SMALL_D))
    finish = finisher(read_field_rest, FIELD_REST)
    return looking_advance(read, FIELD_STATE, take, finish, rearrange)
