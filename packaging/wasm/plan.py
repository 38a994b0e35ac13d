"""What a page calls before the steps of a run: functions on a table of slots, as in `entries`.

`draw` and `matrix` are random numbers. `measure` knows distances that follow from the model alone,
`park` centres. `choose` plans a run of the tokens that move.
`texts` are the sentences that belong to numbers.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from entries import INPUT, OUTPUT, Entries
from numba import typeof, types
from numerics import draws
from runs import planning
from runs.framing import phase_known_until
from runs.planning import Wanted
from slots import TABLE, floats, reader, write

from parkade.analysis import centers
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search import balls
from parkade.explorer.settings.limits import Limits
from parkade.solve.planning import rules
from parkade.solve.planning.sums import descriptions
from parkade.theory import meeting, parking

TEXTS = {"verdicts": rules.VERDICTS, "engines": {d: descriptions(d) for d in (2, 3)}}
_TEXTS = np.frombuffer(json.dumps(TEXTS, ensure_ascii=False).encode(), dtype=np.uint8)
_TOKEN_STEPS = Limits().token_steps

# Functions of the library, compiled here.
_separation, _consumption = njit()(centers.separation), njit()(centers.consumption_radius)
_cluster_radius, _ball = njit()(meeting.cluster_radius), njit()(parking.ball)


class Model(NamedTuple):
    """The matrices of a model, and its numbers."""

    matrices: Array  # (3, d, d): V, Q, K
    numbers: Array  # β, c, T, tol, causal, implicit


class Given(NamedTuple):
    """A model, and the tokens that move and rest."""

    model: Model
    free: Array  # (n, d)
    held: Array  # (m, d)


class Found(NamedTuple):
    """The plan of a run."""

    free: Array  # in the frame, as all that follows
    held: Array
    query: Array
    value: Array
    own_value: Array
    table: Array
    basis: Array
    spin: Array  # in the coordinates of the model
    numbers: Array  # as _choose has them


_ONE, _TWO, _THREE = (np.empty((1,) * rank) for rank in (1, 2, 3))
_MODEL = Model(_THREE, _ONE)
_read_tokens, _read_model, _read_given = (
    reader(typeof(example)) for example in (_TWO, _MODEL, Given(_MODEL, _TWO, _TWO))
)


def entries() -> Entries:
    """All functions by the name that the page calls, with their signatures."""
    number, whole = types.float64, types.int32
    return {
        "draw": (_draw, types.void(TABLE, number)),
        "matrix": (_matrix, types.void(TABLE, number, whole)),
        "measure": (_measure, types.void(TABLE)),
        "park": (_park, types.void(TABLE, number)),
        "choose": (_choose, types.void(TABLE)),
        "texts": (_texts, types.void(TABLE)),
    }


def _draw(table: Any, seed: float) -> None:
    draws.uniform(seed, _read_tokens(table, INPUT))


def _matrix(table: Any, seed: float, name: int) -> None:
    draws.gaussian(seed, name, _read_tokens(table, INPUT))


def _measure(table: Any) -> None:
    given = _read_model(table, INPUT)
    V, Q, K = given.matrices[0], given.matrices[1], given.matrices[2]
    beta, c = given.numbers[0], given.numbers[1]
    head = planning.head_of(V, Q, K, beta)
    found = floats((5,))
    found[0], found[1] = _separation(c, beta), _consumption(beta)
    found[2], found[3], found[4] = _cluster_radius(head.sharpness, 0.0), head.rate, head.sharpness
    write(table, OUTPUT, (found, head.product))


def _park(table: Any, delta: float) -> None:
    x = _read_tokens(table, INPUT)
    draws.units(x)
    fates = floats((x.shape[0],))
    _fates(x, delta, fates)
    write(table, OUTPUT, (fates,))


@njit(allocates=True)
def _fates(x: Array, delta: float, out: Array) -> None:
    sign, bound = _ball(delta)
    found, _ = balls.by_scan(x, sign, bound, True)
    for k in range(out.size):
        out[k] = found[k]


def _choose(table: Any) -> None:
    given = _read_given(table, INPUT)
    model, numbers = given.model, given.model.numbers
    beta, t_end, tol = numbers[0], numbers[2], numbers[3]
    causal, implicit = numbers[4] != 0.0, numbers[5] != 0.0
    draws.units(given.free)
    draws.units(given.held)
    n = given.free.shape[0]
    head = planning.head_of(model.matrices[0], model.matrices[1], model.matrices[2], beta)
    wanted = Wanted(n, given.held.shape[0], causal, t_end, tol, implicit)
    verdict, frame = planning.verdict_on(head, wanted)
    is_implicit = planning.IMPLICIT[verdict]
    sums = planning.sums_of(head, wanted, is_implicit, frame.attracts)
    query = planning.query_of(head, frame)
    found = floats((12,))
    found[0], found[1] = verdict, sums.accuracy
    found[2] = planning.floor_of(query, frame, sums.accuracy)
    found[3] = planning.floor_of(query, frame, 0.0)  # with direct sums
    found[4] = planning.stretch_of(frame)
    found[5], found[6], found[7] = frame.leading, frame.rotates, frame.attracts
    found[8] = frame.drifts
    found[9] = phase_known_until(frame, tol)
    found[10] = 0.0 if is_implicit else planning.steps_for(head.rate, t_end)
    found[11] = planning.longest(head.rate, n, _TOKEN_STEPS)
    free, held = planning.entered(frame, given.free), planning.entered(frame, given.held)
    arrays = frame.V, frame.B, sums.table, frame.basis, frame.spin
    write(table, OUTPUT, Found(free, held, query, *arrays, found))


def _texts(table: Any) -> None:
    out = floats((_TEXTS.size,))
    for i in range(_TEXTS.size):
        out[i] = _TEXTS[i]
    write(table, OUTPUT, (out,))
