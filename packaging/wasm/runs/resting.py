"""Runs in which tokens may rest, by `engine.rest.looks`: steps of some, and results of all.

The run of the tokens that move is a NamedTuple in the table, like that of all tokens at first. Its
arrays are made anew, in the same memory, whenever tokens come to rest or wake.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numerics.symmetric import spectral_norm
from runs.pieces import in_time
from slots import begin_part, end_part, flags, floats, integers

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.rest import rest_state
from parkade.engine.rest.looks import FEWEST, Moment, compiled_look
from parkade.engine.rest.measures import have_lengths, lengthen
from parkade.engine.rest.rest_state import Known, RestState, spread
from parkade.engine.steps.clock import TIME
from parkade.engine.steps.integrator import Goal, Steps
from parkade.engine.system import LOG2E, Dims
from parkade.engine.vectors import copy

_TIMES, _COUNTS = rest_state.SIZES

MAY_REST, IS_DIRECT = 0, 1


class MovingPart(NamedTuple):
    """The tokens that move, whatever their run is."""

    x: Array
    known: Known
    audited: Array
    clock: Array
    steps: Steps


class RestRun(NamedTuple):
    """What a run has beside its steps, if tokens may rest."""

    state: RestState
    tokens: Array  # (n, columns): all tokens, after the last look
    before: Array  # (n, columns): room for tokens before a step
    steps: Steps  # of all tokens
    clock: Array
    times: Array  # the first time on the clock; when the model begins, and when it ends
    chosen: Any  # whether tokens may rest; whether direct sums have taken the place of others
    model: Any  # measures how far tokens are from their leaders


@njit(allocates=True)
def rest_run(x: Array, known: Known, query: Array, may_rest: bool) -> tuple[RestState, Any]:
    """The state of a run that begins at `x`, like `rest_state.new_state`; what is chosen."""
    n, d = known.place.shape
    sharpness = max(spectral_norm(query) / LOG2E, 1e-300)
    state = RestState(
        integers((n,)),
        flags((n,)),
        integers((n,)),
        integers((n,)),
        floats((n,)),
        floats(x.shape),
        known,
        floats((n, d)),
        floats((n,)),
        floats((_TIMES,)),
        integers((_COUNTS,)),
        sharpness,
    )
    rest_state.begin(state, x)
    chosen = integers((2,))
    chosen[MAY_REST] = may_rest and n >= FEWEST
    return state, chosen


@register_jitable
def room_for(count: int, dense: int, n: int, columns: int) -> Steps:
    """Arrays for steps of n tokens."""
    return Steps(floats((count,)), floats((count, n, columns)), floats((count, dense, n, columns)))


@register_jitable
def known_of(work: Any) -> Known:
    """What a workspace knows of its tokens."""
    return Known(work.growth, work.place, work.watch)


@register_jitable
def part_of(run: Any) -> MovingPart:
    """What all runs have of the tokens that move."""
    work = run.work
    return MovingPart(run.tokens, known_of(work), work.audited, work.clock, run.steps)


@register_jitable
def _write(rest: RestRun, part: MovingPart, first: int, taken: int) -> None:
    """Write steps of the tokens that move as those of all tokens, and note where these are."""
    steps, state = rest.steps, rest.state
    for i in range(taken):
        steps.times[first + i] = part.steps.times[i]
        spread(part.steps.dense[i], state.rows, steps.dense[first + i])
    spread(part.steps.tokens, state.rows, steps.tokens[first : first + taken])
    if have_lengths(rest.model, part.x, state.audited.shape[1]):
        lengthen(
            steps.tokens[first : first + taken], steps.dense[first : first + taken], state.longer
        )
    copy(steps.tokens[first + taken - 1], rest.tokens)
    rest_state.count_steps(state, taken)
    rest_state.note(state, part.x, part.known)
    copy(part.clock, rest.clock)


@register_jitable
def _gather(state: RestState, model: Any, tokens: Array) -> None:
    """Put each token where its leader is, from where the next model goes on."""
    for k in range(tokens.shape[0]):
        for c in range(tokens.shape[1]):
            tokens[k, c] = state.x[state.leader[k], c]
    if have_lengths(model, tokens, state.audited.shape[1]):
        one = tokens.reshape((1, *tokens.shape))
        lengthen(one, np.empty((1, 0, *tokens.shape)), state.longer)


@cache
def finisher(read_rest: Callable[..., Any], place: int) -> Callable[..., bool]:
    """The function that notes what steps have done, and looks at the tokens if it is due.

    It returns whether other ones move now. `place` is that of the `RestRun` and the `MovingPart`.
    """

    @njit(allocates=True)
    def finish(table: Any, first: int, taken: int, is_due: bool, goal: Goal) -> bool:
        rest, part = read_rest(table, place)
        _write(rest, part, first, taken)
        clock = rest.clock
        ended = rest_state.has_ended(part.x, part.audited, clock, goal.t_end)
        if rest.chosen[MAY_REST] == 0 or not (is_due or ended):
            return False
        previous = part.steps.tokens[taken - 2] if taken > 1 else rest.before[: part.x.shape[0]]
        moment, t = Moment(part.x, previous, part.audited, part.clock), clock[TIME] - rest.times[0]
        changed = compiled_look(rest.state, rest.model, moment, t, goal.tol)
        if changed:
            rest_state.rearrange(rest.state)
            _gather(rest.state, rest.model, rest.tokens)
        return changed

    return finish


@register_jitable
def steps_until_look(rest: RestRun, most: int) -> int:
    """How many steps to take before tokens are looked at."""
    return rest_state.steps_until_look(rest.state) if rest.chosen[MAY_REST] != 0 else most


def stepping(advance_engine: Callable[..., int], dims: Dims) -> Callable[..., int]:
    """The function that takes some steps of a run, and returns how many, or -1."""

    @register_jitable
    def take(run: Any, rest: RestRun, most: int, goal: Goal) -> int:
        system, x, work, room, _ = run
        copy(x, rest.before[: x.shape[0]])
        steps = Steps(room.times[:most], room.tokens[:most], room.dense[:most])
        return advance_engine(system, dims, x, work, goal, steps)

    return take


def looking_advance(
    read_run: Callable[..., Any],
    place: int,
    take: Callable[..., int],
    finish: Callable[..., bool],
    rearrange: Callable[..., None],
) -> Callable[..., int]:
    """The function that takes steps of the run at a place up to the next look, and looks."""

    @register_jitable
    def advance(table: Any, rest: RestRun, first: int, most: int, goal: Goal) -> int:
        asked = steps_until_look(rest, most)
        taken = take(read_run(table, place), rest, min(asked, most - first), goal)
        if taken > 0 and finish(table, first, taken, taken >= asked, goal):
            begin_part()
            rearrange(table)
            end_part()
        return taken

    return advance


def whole_advance(read_rest: Callable[..., Any], place: int, advance: Callable[..., int]) -> Any:
    """The function that takes steps of all tokens, and returns how many; see `RunOutput`.

    `advance` takes steps up to the next look, and looks.
    """

    def advance_all(table: Any, t_end: float, tol: float, most: int) -> int:
        rest, _ = read_rest(table, place)
        goal, count = Goal(t_end, tol, False), 0
        while count < most and rest.clock[TIME] < t_end:
            taken = advance(table, rest, count, most, goal)
            if taken < 0:
                if count == 0:
                    return -1
                break  # the next call ends the run
            count += taken
        in_time(rest.steps.times, count, rest.clock[TIME] >= t_end, rest.times)
        return count

    return advance_all


_ONE, _TWO, _WHOLE = np.empty(1), np.empty((1, 1)), np.empty(1, dtype=np.int64)
_STEPS = Steps(_ONE, np.empty((1, 1, 1)), np.empty((1, 1, 1, 1)))
_KNOWN = Known(_ONE, _TWO, _TWO)
_STATE = RestState(
    *(_WHOLE, np.empty(1, dtype=np.bool_), _WHOLE, _WHOLE, _ONE, _TWO),
    *(_KNOWN, _TWO, _ONE, _ONE, _WHOLE, 0.0),
)


def example_rest(model: Any) -> tuple[RestRun, MovingPart]:
    """An example with a model, which gives the types of its parts."""
    rest = RestRun(_STATE, _TWO, _TWO, _STEPS, _ONE, _ONE, _WHOLE, model)
    return rest, MovingPart(_TWO, _KNOWN, _TWO, _ONE, _STEPS)
