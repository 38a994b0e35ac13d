"""Functions that a page calls before the steps of a transformer, like `plan` for one head.

`schedule` divides a growing β into pieces. `lower` prepares a model, or one of several in a row,
for the engine, by the rules of `solve`. `first` is the time on the clock when a model begins.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from entries import Entries
from numba import typeof, types
from numerics import draws
from numerics.matrices import multiply
from runs import lowering
from runs.framing import phase_known_until
from runs.parts import PartsRequest, draw_parts
from slots import TABLE, floats, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.steps import splitting
from parkade.engine.steps.brownian import BrownianNoise
from parkade.engine.sums import pairwise
from parkade.engine.system import LOG2E
from parkade.explorer.settings.limits import Limits
from parkade.explorer.settings.parts import MIX_TIME
from parkade.explorer.standalone.shared import ANY_METHOD, INPUT, METHODS, OUTPUT, VERDICTS
from parkade.model import schedule as schedules
from parkade.solve.lowering import brownian, handover
from parkade.solve.planning import rules, sums
from parkade.theory import meeting

_TOKEN_STEPS = Limits().token_steps
_NOT_CAUSAL, _IN_TURN = len(VERDICTS) - 2, len(VERDICTS) - 1
_IMPLICIT = METHODS.index("implicit")

# Functions of the library, compiled here.
_is_short, _step_seconds = njit()(rules.is_short), njit()(rules.step_seconds)
_pair_seconds, _parts_seconds = njit()(pairwise.seconds), njit()(sums.parts_seconds)
_cluster_radius, _thermal_radius = njit()(meeting.cluster_radius), njit()(meeting.thermal_radius)
_first_time = njit()(handover.first_time)
_root_of, _step_within = njit()(brownian.root_of), njit()(brownian.step_within)
_reach_within = njit()(brownian.reach_within)
_division = njit(error_model="numpy")(schedules.division)
_PER_DECADE, _UNIT = 20, 1.0  # the defaults of `Schedule.of`


class TransformerInput(NamedTuple):
    """A model, and its tokens."""

    tokens: Array  # (n, d), or (n, d + 1) with ln r; taken to the frame in place
    matrices: Array  # (3, d, d): V, Q, K
    parts: Array  # heads, rank, width and gain of the MLP, sample
    numbers: Array  # in the order of _lower


class TransformerPlan(NamedTuple):
    """The arrays of a `Field`, the frame, and the numbers of a plan."""

    tokens: Array
    queries: Array
    keys: Array
    reach: Array
    values: Array
    outputs: Array
    own_value: Array
    slopes: Array
    turns: Array
    inner: Array
    outer: Array
    query: Array
    value: Array
    basis: Array
    spin: Array  # in the coordinates of the model
    shown: Array  # (2, H m, d): βQ and K in the coordinates of the model
    total: Array  # (d, d): the sum of all V
    numbers: Array


_read_input = reader(
    typeof(TransformerInput(np.empty((1, 1)), np.empty((1, 1, 1)), np.empty(1), np.empty(1)))
)


def entries() -> Entries:
    """All functions with their signatures, by the names under which the page calls them."""
    number = types.float64
    return {
        "schedule": (_schedule, types.void(TABLE, number, number, number)),
        "lower": (_lower, types.void(TABLE)),
        "first": (_first, number(TABLE, number, number, types.int32)),
    }


def _schedule(table: Any, beta: float, growth: float, t_end: float) -> None:
    """Write when pieces begin and end, how long they last, and β in each: see `parts.scheduled`."""
    count, whole = _division(t_end, _UNIT, _PER_DECADE)
    starts, ends, durations, betas = (
        floats((count,)),
        floats((count,)),
        floats((count,)),
        floats((count,)),
    )
    for i in range(count):
        starts[i] = _moment(2 * i, count, whole)
        betas[i] = beta + growth * math.log1p(_moment(2 * i + 1, count, whole))
    for i in range(count):
        ends[i] = starts[i + 1] if i + 1 < count else t_end
        durations[i] = ends[i] - starts[i]
    write(table, OUTPUT, (starts, ends, durations, betas))


@njit()
def _moment(i: int, count: int, whole: float) -> float:
    """The start of a piece if i is even, or its middle if i is odd."""
    place = i / (2 * count) * whole
    return math.expm1(place) if place < schedules.FAR else math.exp(place)


def _first(table: Any, start: float, duration: float, drifts: int) -> float:
    """The time on the clock of a model when it begins."""
    return _first_time(start, duration, drifts != 0)


def _lower(table: Any) -> None:
    model = _read_input(table, INPUT)
    heads, rank, width, gain, sample = model.parts
    (
        beta,
        t_end,  # of the run
        start,  # of the model
        duration,
        tol,
        norm,
        causal,
        slope,
        rope,
        heat,  # 1/κ, or 0
        seed,
        piece,
        method,  # of all pieces
        turns,  # whether the norm allows a rotating frame
        window,  # the number of places to which tokens attend
    ) = model.numbers
    drawn = PartsRequest(int(heads), int(rank), int(width), gain, sample)
    parts = draw_parts(model.matrices[0], model.matrices[1], model.matrices[2], drawn)
    traits = lowering.traits_of(parts, beta)
    may_turn = width == 0.0 and turns != 0.0
    verdict = _verdict(traits, t_end, causal != 0.0, heat, may_turn)
    long = method == _IMPLICIT or (method == ANY_METHOD and verdict == rules.CAUSAL)
    frame = lowering.transformer_frame(traits, long, may_turn)
    arrays = lowering.arrays_of(parts, traits, beta, frame)
    n = model.tokens.shape[0]
    count, m, d = parts.Q.shape
    slopes, shown = floats((count,)), floats((2, count * m, d))
    angles = floats((count, m // 2 if rope != 0.0 else 0))
    for h in range(count):
        slopes[h] = LOG2E * slope
        for i in range(angles.shape[1]):
            angles[h, i] = rope ** (-2.0 * i / m)
        for i in range(m):
            for c in range(d):
                shown[0, h * m + i, c] = beta * parts.Q[h, i, c]
                shown[1, h * m + i, c] = parts.K[h, i, c]
    _enter(model.tokens, frame.basis)
    numbers = floats((22,))
    late = _first_time(start, duration, frame.drifts)
    numbers[0], numbers[1] = verdict, frame.leading
    numbers[2] = lowering.floor_of(traits, frame, width > 0.0)
    numbers[3] = lowering.stretch_of(frame)
    numbers[4], numbers[5], numbers[6] = frame.rotates, frame.attracts, frame.drifts
    numbers[7], numbers[8], numbers[9] = late, start - late, late + duration
    numbers[10], numbers[11] = traits.rate, traits.sharpness
    thermal = _thermal_radius(d, heat, traits.rate) if heat > 0.0 else 0.0
    numbers[12] = _cluster_radius(traits.sharpness, thermal)
    numbers[13] = phase_known_until(frame, tol)
    numbers[14] = lowering.steps_for(int(norm), traits.rate, t_end, MIX_TIME)
    most, cells = 0.0, 0
    if heat > 0.0:
        words = draws.words_of(seed, int(piece))
        cells = _set_noise(traits, d, heat, duration, tol, words, numbers[14:20])
        most = numbers[14]
        numbers[14] = t_end / most
    numbers[20] = _longest(int(norm), traits.rate, n, most)
    pairs = min((0.5 if causal != 0.0 else 1.0) * n * n, n * window)
    attention = count * _pair_seconds(pairs, m)
    velocity = _parts_seconds(attention, count, n, d, int(width))
    numbers[21] = _step_seconds(velocity, long, 0, cells * n * d)
    write(
        table,
        OUTPUT,
        TransformerPlan(
            model.tokens,
            arrays.queries,
            arrays.keys,
            traits.reach,
            arrays.values,
            arrays.outputs,
            frame.B,
            slopes,
            angles,
            arrays.inner,
            arrays.outer,
            arrays.query,
            arrays.value,
            frame.basis,
            frame.spin,
            shown,
            traits.V,
            numbers,
        ),
    )


@njit(allocates=True)
def _enter(states: Array, basis: Array) -> None:
    """Scale the tokens of states to unit length, and take them to a basis, in place."""
    d, n = basis.shape[0], states.shape[0]
    tokens, inside = np.empty((n, d)), np.empty((n, d))
    for k in range(n):
        for c in range(d):
            tokens[k, c] = states[k, c]
    draws.units(tokens)
    multiply(tokens, basis, inside)
    for k in range(n):
        for c in range(d):
            states[k, c] = inside[k, c]


@njit(allocates=True)
def _verdict(
    traits: lowering.TransformerTraits, t_end: float, causal: bool, heat: float, may_turn: bool
) -> int:
    """The index of the verdict on a run, as in `solve.planning.plan`."""
    if heat > 0.0:
        return _IN_TURN
    if _is_short(t_end, traits.rate, traits.V.shape[0]):
        return rules.BRIEF
    if not causal:
        return _NOT_CAUSAL
    rotates = lowering.transformer_frame(traits, True, may_turn).rotates
    return rules.ROTATING if rotates else rules.CAUSAL


@njit()
def _longest(norm: int, rate: float, n: int, step: float) -> float:
    """The largest T for which n tokens take no more steps than allowed, counted for each token.

    With noise, no step is longer than `step`.
    """
    low, high = -3.0, 60.0
    while high - low > 0.01:
        middle = (low + high) / 2
        t = 10.0**middle
        steps = t / step if step > 0.0 else lowering.steps_for(norm, rate, t, MIX_TIME)
        if n * steps <= _TOKEN_STEPS:
            low = middle
        else:
            high = middle
    return 10.0**low


@njit(allocates=True)
def _set_noise(
    traits: lowering.TransformerTraits,
    d: int,
    heat: float,
    duration: float,
    tol: float,
    words: Any,
    out: Array,
) -> int:
    """Set `out` to the longest step, √(2/κ), the root, the first step and the key of the noise.

    Returns the number of cells of the longest step.
    """
    kappa = 1.0 / heat
    root, scale = _root_of(traits.rate, kappa), math.sqrt(2.0 / kappa)
    noise = BrownianNoise(scale, False, root, words)
    most = splitting.longest(d, noise, tol)
    cells = splitting.cells_of(most, d, noise, tol)
    out[0], out[1], out[2] = most, scale, root
    most = min(most, duration, _reach_within(traits.sharpness, traits.rate))
    out[3] = _step_within(root, most)
    out[4], out[5] = words[0], words[1]
    return cells
