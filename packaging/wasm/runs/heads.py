"""Runs of one plain head in which tokens may rest: what `HeadStepper` does with the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from numba.extending import register_jitable
from runs.resting import (
    IS_DIRECT,
    RestRun,
    example_rest,
    finisher,
    known_of,
    looking_advance,
    part_of,
    room_for,
    stepping,
    steps_until_look,
)
from runs.room import ROOM
from slots import begin_part, count, end_part, floats, integers, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.jacobian.linearization import padded
from parkade.engine.rest import rest_state
from parkade.engine.rest.rest_state import MOVING, RestState
from parkade.engine.steps.integrator import Goal, Integrator, Steps
from parkade.engine.steps.methods import METHODS
from parkade.engine.sums import pairwise
from parkade.engine.sums.series import SERIES
from parkade.engine.system import System, unrolled
from parkade.engine.vectors import copy
from parkade.explorer.standalone.shared import DIRECT, REST, STATE
from parkade.solve.planning import rules

# Functions of the library, compiled here.
_pair_seconds = njit()(pairwise.seconds)
_is_cheaper_directly = njit()(rules.is_cheaper_directly)


class HeadRun(NamedTuple):
    """The state of a run between calls."""

    system: System
    tokens: Array
    work: Any
    steps: Steps
    times: Array


@register_jitable
def directly(system: System) -> System:
    """The same system with direct sums."""
    return System(
        system.query,
        system.value,
        system.own_value,
        system.frozen,
        system.frozen_weights,
        system.causal,
        None,
        None,
        0.0,
        system.floor,
        system.stretch,
        system.leaders,
        system.followers,
    )


@njit(allocates=True)
def _followed(system: System, state: RestState) -> System:
    """The system of the tokens that move, with the others as followers."""
    m = state.counts[MOVING]
    number = np.empty(m, dtype=np.int64)
    total = rest_state.number_leaders(state, number)
    leaders, followers = integers((total,)), floats((total, padded(m)))
    rest_state.set_followers(state, number, leaders, followers)
    return System(
        system.query,
        system.value,
        system.own_value,
        system.frozen,
        system.frozen_weights,
        system.causal,
        system.table,
        system.lengths,
        system.accuracy,
        system.floor,
        system.stretch,
        leaders,
        followers,
    )


_ONE, _TWO = np.empty(1), np.empty((1, 1))


def example_system(kind: str) -> System:
    """A system with sums of a kind, which gives the types of its parts."""
    return System(
        *(_TWO,) * 4,
        frozen_weights=_ONE,
        causal=True,
        table=_TWO if kind == "harmonic" else None,
        lengths=None,
        accuracy=0.0,
        floor=0.0,
        stretch=0.0,
        leaders=np.empty(0, np.int64),
        followers=_TWO,
    )


def example_run(method: str, d: int, kind: str) -> HeadRun:
    """A run of a method with sums of a kind, which gives the types of its parts."""
    engine = METHODS[method]
    work = engine.workspace(1, d, causal=kind != "full", stores=kind != "harmonic")
    steps = Steps(_ONE, np.empty((1, 1, 1)), np.empty((1, 1, 1, 1)))
    return HeadRun(example_system(kind), _TWO, work, steps, _ONE)


HEAD_REST = example_rest(example_system("direct"))
PART = REST + count(typeof(HEAD_REST[0]))
read_rest = reader(typeof(HEAD_REST))


@cache
def _putter(engine: Integrator, d: int, kind: str) -> tuple[int, Callable[..., None]]:
    """The place of runs with sums of a kind, and the function that puts a new one there."""
    place, make_room = DIRECT if kind == "direct" else STATE, ROOM[engine.name, kind]
    dense = engine.dense

    @njit()
    def put(table: Any, system: System) -> None:
        rest, _ = read_rest(table, REST)
        m = rest.state.counts[MOVING]
        x, work = floats((m, d)), make_room(m, d)
        copy(rest.clock, work.clock)
        rest_state.hand_over(rest.state, x, known_of(work))
        rest_state.arm(rest.state, work.audited, work.clock)
        run = HeadRun(system, x, work, room_for(rest.steps.times.size, dense, m, d), rest.times)
        write(table, place, run)
        write(table, PART, part_of(run))

    return place, put


def direct_advance(engine: Integrator, d: int, read: Callable[..., Any]) -> Callable[..., int]:
    """The function that takes steps with direct sums up to the next look, and looks."""
    take, finish = stepping(engine.advance, unrolled(d)), finisher(read_rest, REST)
    place, put = _putter(engine, d, "direct")

    @njit()
    def rearrange(table: Any) -> None:
        rest, _ = read_rest(table, REST)
        put(table, _followed(read(table, place).system, rest.state))

    return looking_advance(read, place, take, finish, rearrange)


def harmonic_advance(
    engine: Integrator, d: int, read: Callable[..., Any], read_direct: Callable[..., Any]
) -> Callable[..., int]:
    """The same with harmonic sums, or with direct ones where these are cheaper."""
    take, finish = stepping(engine.advance, unrolled(d)), finisher(read_rest, REST)
    place, put = _putter(engine, d, "harmonic")
    direct_place, put_directly = _putter(engine, d, "direct")
    seconds = njit()(SERIES[d].seconds)

    @njit()
    def rearrange(table: Any) -> None:
        rest, _ = read_rest(table, REST)
        n, m = rest.state.leader.size, rest.state.counts[MOVING]
        begin_part()
        system = _followed(read(table, place).system, rest.state)
        harmonic, direct = seconds(system.table.shape[1], n), _pair_seconds(m * m / 2, d)
        is_direct = _is_cheaper_directly(harmonic, direct, n, m, system.leaders.size)
        rest.chosen[IS_DIRECT] = is_direct
        if is_direct:
            put_directly(table, directly(system))
        else:
            put(table, system)
        end_part()

    @register_jitable
    def advance(table: Any, rest: RestRun, first: int, most: int, goal: Goal) -> int:
        asked = steps_until_look(rest, most)
        until = min(asked, most - first)
        if rest.chosen[IS_DIRECT] != 0:
            taken = take(read_direct(table, direct_place), rest, until, goal)
        else:
            taken = take(read(table, place), rest, until, goal)
        if taken > 0 and finish(table, first, taken, taken >= asked, goal):
            rearrange(table)
        return taken

    return advance
