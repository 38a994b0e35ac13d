"""Functions that a page calls before the steps of a run, on a table of slots as in `entries`.

`draw` and `matrix` draw random numbers. `measure` computes distances that follow from the model
alone, and `park` finds centres. `choose` plans a run of the tokens that are not frozen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from entries import INPUT, OUTPUT, Entries
from numba import typeof, types
from numerics import draws
from runs import planning
from runs.framing import phase_known_until
from runs.planning import RunRequest
from slots import TABLE, floats, reader, write

from parkade.analysis import centers
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search import balls
from parkade.explorer.settings.limits import Limits
from parkade.solve.planning import rules
from parkade.theory import meeting, parking

_TOKEN_STEPS = Limits().token_steps

# Functions of the library, compiled here.
_separation, _consumption = njit()(centers.separation), njit()(centers.consumption_radius)
_cluster_radius, _ball = njit()(meeting.cluster_radius), njit()(parking.ball)
_step_seconds = njit()(rules.step_seconds)


class ModelInput(NamedTuple):
    """The matrices of a model, and its numbers."""

    matrices: Array  # (3, d, d): V, Q, K
    numbers: Array  # β, c, T, tol, causal, implicit


class PlanInput(NamedTuple):
    """A model, its free tokens, and its frozen ones."""

    model: ModelInput
    free: Array  # (n, d)
    held: Array  # (m, d)


class HeadPlan(NamedTuple):
    """The plan of a run of one head."""

    free: Array  # in the frame, like the arrays that follow
    held: Array
    query: Array
    value: Array
    own_value: Array
    table: Array
    basis: Array
    spin: Array  # in the coordinates of the model
    numbers: Array  # in the order of _choose


_ONE, _TWO, _THREE = (np.empty((1,) * rank) for rank in (1, 2, 3))
_MODEL = ModelInput(_THREE, _ONE)
_read_tokens, _read_model, _read_input = (
    reader(typeof(example)) for example in (_TWO, _MODEL, PlanInput(_MODEL, _TWO, _TWO))
)


def entries() -> Entries:
    """All functions with their signatures, by the names under which the page calls them."""
    number, whole = types.float64, types.int32
    return {
        "draw": (_draw, types.void(TABLE, number)),
        "matrix": (_matrix, types.void(TABLE, number, whole)),
        "measure": (_measure, types.void(TABLE)),
        "park": (_park, types.void(TABLE, number)),
        "choose": (_choose, types.void(TABLE)),
    }


def _draw(table: Any, seed: float) -> None:
    draws.uniform(seed, _read_tokens(table, INPUT))


def _matrix(table: Any, seed: float, name: int) -> None:
    draws.gaussian(seed, name, _read_tokens(table, INPUT))


def _measure(table: Any) -> None:
    model = _read_model(table, INPUT)
    V, Q, K = model.matrices[0], model.matrices[1], model.matrices[2]
    beta, c = model.numbers[0], model.numbers[1]
    head = planning.head_of(V, Q, K, beta)
    out = floats((5,))
    out[0], out[1] = _separation(c, beta), _consumption(beta)
    out[2], out[3], out[4] = _cluster_radius(head.sharpness, 0.0), head.rate, head.sharpness
    write(table, OUTPUT, (out, head.product))


def _park(table: Any, delta: float) -> None:
    x = _read_tokens(table, INPUT)
    draws.units(x)
    fates = floats((x.shape[0],))
    _fates(x, delta, fates)
    write(table, OUTPUT, (fates,))


@njit(allocates=True)
def _fates(x: Array, delta: float, out: Array) -> None:
    sign, bound = _ball(delta)
    fates, _ = balls.by_scan(x, sign, bound, True)
    for k in range(out.size):
        out[k] = fates[k]


def _choose(table: Any) -> None:
    model, free, held = _read_input(table, INPUT)
    numbers = model.numbers
    beta, t_end, tol = numbers[0], numbers[2], numbers[3]
    causal, implicit = numbers[4] != 0.0, numbers[5] != 0.0
    draws.units(free)
    draws.units(held)
    n, d = free.shape
    head = planning.head_of(model.matrices[0], model.matrices[1], model.matrices[2], beta)
    request = RunRequest(n, held.shape[0], causal, t_end, tol, implicit)
    verdict, frame = planning.verdict_on(head, request)
    is_implicit = planning.IMPLICIT[verdict]
    sums = planning.sums_of(head, request, is_implicit, frame.attracts)
    query = planning.query_of(head, frame)
    coupled = 0 if causal else n * (d - 1)
    out = floats((16,))
    out[0], out[1] = verdict, sums.accuracy
    out[2] = planning.floor_of(query, frame, sums.accuracy)
    out[3] = planning.floor_of(query, frame, 0.0)  # with direct sums
    out[4] = planning.stretch_of(frame)
    out[5], out[6], out[7] = frame.leading, frame.rotates, frame.attracts
    out[8] = frame.drifts
    out[9] = phase_known_until(frame, tol)
    out[10] = 0.0 if is_implicit else planning.steps_for(head.rate, t_end)
    out[11] = planning.longest(head.rate, n, _TOKEN_STEPS)
    out[12] = sums.table.shape[0]
    out[13] = _step_seconds(sums.seconds, is_implicit, coupled, 0)
    out[14] = _step_seconds(sums.direct_seconds, is_implicit, coupled, 0)
    out[15] = 0.0 if held.size else frame.turning
    free, held = planning.entered(frame, free), planning.entered(frame, held)
    arrays = frame.V, frame.B, sums.table, frame.basis, frame.spin
    write(table, OUTPUT, HeadPlan(free, held, query, *arrays, out))
