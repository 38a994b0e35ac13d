"""Functions that a page calls on a table of slots, compiled from the engine's source.

A run begins with a `HeadInput` in the table. `begin` adds a `HeadRun`, and a `RunOutput` for the
page; `advance` takes steps, and `excess` compares harmonic sums with direct ones. If another model
came before, `resume` takes over from its end, an `EarlierModel` in place of the input. Each kind of
engine has its own functions, but `interpolate` is the same for all kinds of a method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import carray, typeof, types
from numba.extending import register_jitable
from numerics.eigenvalues import eigenvalues
from runs.heads import (
    HEAD_REST,
    HeadRun,
    direct_advance,
    directly,
    example_run,
    harmonic_advance,
    read_rest,
)
from runs.pieces import EARLIER_MODEL, RoundingWatch, in_time, resume, start_clock, watch_of
from runs.resting import IS_DIRECT, RestRun, known_of, part_of, rest_run, room_for, whole_advance
from runs.room import ROOM
from slots import TABLE, count, floats, integers, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.flow.linear_time import whole
from parkade.engine.steps.clock import TIME
from parkade.engine.steps.integrator import Goal, Steps
from parkade.engine.steps.methods import METHODS
from parkade.engine.sums.pairwise import velocity_rows
from parkade.engine.system import Dims, System, unrolled
from parkade.engine.vectors import copy, frobenius
from parkade.explorer.standalone.shared import DIRECT, INPUT, OUTPUT, REST, SLOTS, STATE

RESTING = ("implicit", "direct"), ("implicit", "harmonic")
"""Methods and kinds of engines in which tokens may rest."""

Entries: TypeAlias = dict[str, tuple[Callable[..., Any], Any]]


class HeadInput(NamedTuple):
    """The start of a run: the fields of a `System`, and tokens in its frame."""

    tokens: Array  # (n, d)
    frozen: Array  # (m, d)
    frozen_weights: Array  # (m,)
    matrices: Array  # (3, d, d): query, value, own_value
    table: Array  # (rows, columns), or empty for direct sums
    numbers: Array  # (5,): causal, accuracy, floor, stretch, whether tokens may rest
    times: Array  # (3,): the first time on the clock; when the model begins, and when it ends
    room: int  # the most steps of one call


class RunOutput(NamedTuple):
    """The arrays that the page reads after each call."""

    clock: Array
    tokens: Array  # (n, d)
    steps: Steps
    watch: RoundingWatch


class StepMoment(NamedTuple):
    """A step, and an array for the tokens at a time inside it."""

    start: Array
    end: Array
    dense: Array
    out: Array


def entries(method: str, d: int) -> Entries:
    """All functions of an engine with their signatures, by the names that the page calls."""
    functions = {"interpolate": _interpolate(method)}
    for one, kind in ROOM:
        if one == method:
            functions |= {
                f"{name}_{kind}": entry for name, entry in _of_kind(method, d, kind).items()
            }
            if kind == "full":
                functions["eigenvalues"] = eigenvalues_entry()
    return functions


def _of_kind(method: str, d: int, kind: str) -> Entries:
    engine, dims, harmonic = METHODS[method], unrolled(d), kind == "harmonic"
    make_room, dense, may_rest = ROOM[method, kind], engine.dense, (method, kind) in RESTING
    place = DIRECT if may_rest and not harmonic else STATE
    read_input = reader(typeof(_EXAMPLE))
    kinds = [typeof(example_run(method, d, some)) for some in (kind, "direct")]
    assert STATE + count(kinds[0]) <= DIRECT
    assert DIRECT + count(kinds[1]) <= REST
    assert REST + count(typeof(HEAD_REST)) <= SLOTS
    read_state, read_direct = map(reader, kinds)
    read_earlier = reader(typeof(EARLIER_MODEL))

    @register_jitable
    def start(inputs: Any) -> HeadRun:
        n = inputs.tokens.shape[0]
        causal, accuracy, floor, stretch, _ = inputs.numbers
        system = System(
            inputs.matrices[0],
            inputs.matrices[1],
            inputs.matrices[2],
            inputs.frozen,
            inputs.frozen_weights,
            causal != 0.0,
            inputs.table if harmonic else None,
            None,
            accuracy,
            floor,
            stretch,
            integers((0,)),
            floats((0, 0)),
        )
        work = make_room(n, d)
        start_clock(work.clock, inputs.times)
        steps = room_for(inputs.room, dense, n, d)
        return HeadRun(system, inputs.tokens, work, steps, inputs.times)

    def begin(table: Any) -> None:
        run = start(read_input(table, INPUT))
        write(table, place, run)
        output = RunOutput(run.work.clock, run.tokens, run.steps, watch_of(run.work))
        write(table, OUTPUT, output)

    def begin_resting(table: Any) -> None:
        inputs = read_input(table, INPUT)
        run = start(inputs)
        n, clock, query = inputs.tokens.shape[0], run.work.clock, run.system.query
        state, chosen = rest_run(run.tokens, known_of(run.work), query, inputs.numbers[4] != 0.0)
        tokens, steps = floats((n, d)), room_for(inputs.room, dense, n, d)
        copy(run.tokens, tokens)
        write(table, place, run)
        before = floats((n, d))
        arrays = state, tokens, before, steps, clock, inputs.times, chosen
        write(table, REST, (RestRun(*arrays, directly(run.system)), part_of(run)))
        write(table, OUTPUT, RunOutput(clock, tokens, steps, watch_of(run.work)))

    def excess(table: Any, checked: int) -> float:
        if may_rest and read_rest(table, REST)[0].chosen[IS_DIRECT] != 0:
            return 0.0
        state = read_state(table, place)
        return _excess(state.system, dims, state.tokens, checked)

    def take_over(table: Any) -> None:
        state, before = read_state(table, place), read_earlier(table, INPUT)
        resume(state.system, state.work, before)

    advance = advance_entry(engine.advance, dims, read_state, place)
    if may_rest:
        both = harmonic_advance(engine, d, read_state, read_direct)
        one = both if harmonic else direct_advance(engine, d, read_direct)
        advance = whole_advance(read_rest, REST, one), advance[1]
    functions: Entries = {
        "begin": (begin_resting if may_rest else begin, types.void(TABLE)),
        "advance": advance,
        "resume": (take_over, types.void(TABLE)),
    }
    if harmonic:
        functions["excess"] = excess, types.float64(TABLE, types.int32)
    return functions


def advance_entry(
    advance_engine: Callable[..., int], dims: Dims, read_run: Callable[..., Any], place: int
) -> tuple[Callable[..., Any], Any]:
    """The function that takes steps of the run at a place of the table, and returns how many."""

    def advance(table: Any, t_end: float, tol: float, most: int) -> int:
        system, x, work, room, times = read_run(table, place)
        steps = Steps(room.times[:most], room.tokens[:most], room.dense[:most])
        taken = advance_engine(system, dims, x, work, Goal(t_end, tol, False), steps)
        in_time(steps.times, taken, work.clock[TIME] >= t_end, times)
        return taken

    return advance, types.int32(TABLE, types.float64, types.float64, types.int32)


@njit(allocates=True)
def _excess(system: System, dims: Dims, x: Array, checked: int) -> float:
    """The error of some harmonic sums, relative to its bound, as in `HeadStepper.check`."""
    fast, exact = np.empty_like(x), np.empty_like(x)
    direct = directly(system)
    whole(system, dims, x, fast)
    worst = 0.0
    for i in range(checked):
        k = i * (x.shape[0] - 1) // max(1, checked - 1)
        velocity_rows(direct, dims, x, k, k + 1, exact)
        for c in range(x.shape[1]):
            gap = abs(fast[k, c] - exact[k, c])
            # Not max(), which may lose a NaN.
            worst = gap if worst == worst and not gap <= worst else worst
    return worst / (system.accuracy * max(1.0, frobenius(system.value)))


def _interpolate(method: str) -> tuple[Callable[..., Any], Any]:
    read, inside = reader(typeof(STEP_MOMENT)), METHODS[method].interpolate

    def interpolate(table: Any, theta: float) -> None:
        start, end, dense, out = read(table, INPUT)
        inside(theta, start, end, dense, out)

    return interpolate, types.void(TABLE, types.float64)


def eigenvalues_entry() -> tuple[Callable[..., Any], Any]:
    """The function that the runtime calls for the eigenvalues of a complex matrix."""

    def find(matrix: Any, n: int, out: Any) -> int:
        return _find(matrix, n, out)

    pointer = types.CPointer(types.complex128)
    return find, types.int32(pointer, types.int64, pointer)


@njit(allocates=True)
def _find(matrix: Any, n: int, out: Any) -> int:
    return eigenvalues(carray(matrix, (n, n)), carray(out, (n,)))


_STEPS = Steps(np.empty(1), np.empty((1, 1, 1)), np.empty((1, 1, 1, 1)))
_EXAMPLE = HeadInput(
    tokens=np.empty((1, 1)),
    frozen=np.empty((1, 1)),
    frozen_weights=np.empty(1),
    matrices=np.empty((1, 1, 1)),
    table=np.empty((1, 1)),
    numbers=np.empty(1),
    times=np.empty(1),
    room=1,
)
STEP_MOMENT = StepMoment(*(np.empty((1, 1)),) * 2, np.empty((1, 1, 1)), np.empty((1, 1)))
