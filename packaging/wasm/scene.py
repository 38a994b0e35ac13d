"""What a page calls to make a scene of steps: functions on a table of slots, as in `entries`.

`begin` makes room for the steps of a run, `take` adds some. `show` chooses frames, `merge` finds
clusters and `label` names them in each frame; `consume` counts tokens around centres. What they
find stays in the table, for the page and for those that come later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scene_forecast
import scene_frames
import scene_merges
import scene_run
from numba import typeof, types
from scene_forecast import Given, Told
from scene_merges import Events, Plateaus
from scene_run import Indices, Run, Steps
from slots import TABLE, count, floats, integers, reader, write
from small import norm

from parkade.analysis.merging import _FORMING
from parkade.base.types import Array
from parkade.engine.jit import njit
from parkade.engine.neighbours import count_near

INPUT, RUN, SHOWN, FOUND, LABELS, SHARES, TOLD = 0, 32, 64, 80, 112, 120, 124
"""Where things begin in the table."""

Entries: TypeAlias = dict[str, tuple[Callable[..., Any], Any]]


class Start(NamedTuple):
    """Where a run starts, and how much room its steps take."""

    tokens: Array  # (n, d): all of them
    spin: Array  # (d, d): generator of the frame's rotation
    method: int
    steps: int
    dense: int
    lengths: int  # 1 if tokens have lengths, else 0


class Shown(NamedTuple):
    """The frames."""

    times: Array  # (F,)
    tokens: Array  # (F, n, d)
    logs: Array  # (F, n): ln r, or (0, 0)


class Found(NamedTuple):
    """Clusters."""

    events: Events
    plateaus: Plateaus
    arrivals: Array  # (n,)


class Law(NamedTuple):
    """What a forecast needs besides the run."""

    query: Array  # (d, d): Q
    key: Array  # (d, d): K
    basis: Array  # (d, dim): of the leading eigenspace of V
    projection: Array  # (d, d): on it
    numbers: Array  # (3,): β, the leading eigenvalue, and the radius of clusters


class Labels(NamedTuple):
    """The leader of each token in each frame, and the number of clusters."""

    leaders: Indices  # (F, n)
    counts: Indices  # (F,)


def entries() -> Entries:
    """All functions by the name that the page calls, with their signatures."""
    some, number = types.int32, types.float64
    return {
        "begin": (_begin, types.void(TABLE)),
        "take": (_take, types.void(TABLE, some)),
        "show": (_show, types.void(TABLE)),
        "merge": (_merge, types.void(TABLE, number, some)),
        "label": (_label, types.void(TABLE)),
        "consume": (_consume, types.void(TABLE, number)),
        "foretell": (_foretell, types.int32(TABLE)),
    }


_ONE, _TWO, _THREE, _FOUR = (np.empty((1,) * rank) for rank in (1, 2, 3, 4))
_WHOLE = np.empty(1, dtype=np.int64)
_EVENTS, _PLATEAUS = Events(_ONE, *(_WHOLE,) * 3), Plateaus(*(_ONE,) * 3, _WHOLE)
_KINDS = {
    INPUT: Steps(_ONE, _THREE, _FOUR, _TWO, _WHOLE),
    RUN: Run(1, _ONE, _THREE, _FOUR, _TWO, _THREE, _TWO, 1.0),
    SHOWN: Shown(_ONE, _THREE, _TWO),
    FOUND: Found(_EVENTS, _PLATEAUS, _ONE),
    LABELS: Labels(np.empty((1, 1), dtype=np.int64), _WHOLE),
    SHARES: (_ONE,),
    TOLD: Told(_ONE, *(_WHOLE,) * 3),
}
_ENDS = [first + count(typeof(kind)) for first, kind in _KINDS.items()]
assert all(end <= first for end, first in zip(_ENDS, list(_KINDS)[1:], strict=False))

_read_start = reader(typeof(Start(_TWO, _TWO, 1, 1, 1, 1)))
_read_law = reader(typeof(Law(*(_TWO,) * 4, _ONE)))
_read_centers = reader(typeof(_WHOLE))
_read_matrix = reader(typeof(_TWO))
_read_steps, _read_run, _read_shown, _read_found = (
    reader(typeof(_KINDS[place])) for place in (INPUT, RUN, SHOWN, FOUND)
)


def _begin(table: Any) -> None:
    given = _read_start(table, INPUT)
    n, d = given.tokens.shape
    steps, dense, lengths = given.steps, given.dense, given.lengths
    plane = floats((2, d))
    run = Run(
        given.method,
        floats((steps + 1,)),
        floats((steps + 1, n, d)),
        floats((steps, dense, n, d)),
        floats((lengths * (steps + 1), lengths * n)),
        floats((lengths * steps, lengths * dense, lengths * n)),
        plane,
        scene_run.plane_of(given.spin, plane),
    )
    scene_run.begin(run, given.tokens)
    write(table, RUN, run)


def _take(table: Any, first: int) -> None:
    scene_run.take(_read_run(table, RUN), _read_steps(table, INPUT), first)


def _show(table: Any) -> None:
    run = _read_run(table, RUN)
    n, d = run.tokens.shape[1], run.tokens.shape[2]
    room = floats((scene_frames.MOST,))
    frames = scene_frames.frame_times(run, room)
    times = room[:frames]
    tokens = floats((frames, n, d))
    logs = floats((frames if run.logs.size > 0 else 0, n))
    for i in range(frames):
        scene_run.at(run, times[i], tokens[i])
        scene_run.turn(run, times[i], tokens[i])
        if run.logs.size > 0:
            scene_run.logs_at(run, times[i], logs[i])
    write(table, SHOWN, Shown(times, tokens, logs))


def _merge(table: Any, radius: float, halvings: int) -> None:
    run, rate = _read_run(table, RUN), norm(_read_matrix(table, INPUT))
    n, end = run.tokens.shape[1], run.times[run.times.size - 1]
    room = Events(floats((n,)), integers((n,)), integers((n,)), integers((n,)))
    many = scene_merges.merges(run, radius, halvings, room)
    arrivals = floats((n,))
    scene_merges.arrivals(room, many, arrivals)
    more = Plateaus(floats((n + 1,)), floats((n + 1,)), floats((n + 1,)), integers((n + 1,)))
    forming = _FORMING / (rate if rate > 0.0 else 1.0)
    long = scene_merges.plateaus(arrivals, end, forming, more)
    events = Events(room.times[:many], room.absorbed[:many], room.into[:many], room.sizes[:many])
    plateaus = Plateaus(
        more.starts[:long], more.ends[:long], more.lifetimes[:long], more.clusters[:long]
    )
    write(table, FOUND, Found(events, plateaus, arrivals))


def _label(table: Any) -> None:
    shown, found = _read_shown(table, SHOWN), _read_found(table, FOUND)
    frames, n = shown.tokens.shape[0], shown.tokens.shape[1]
    leaders, counts = integers((frames, n)), integers((frames,))
    for i in range(frames):
        counts[i] = scene_merges.leaders(
            shown.tokens[i], found.arrivals, shown.times[i], leaders[i]
        )
    write(table, LABELS, Labels(leaders, counts))


def _consume(table: Any, radius: float) -> None:
    shown, centers = _read_shown(table, SHOWN), _read_centers(table, INPUT)
    shares = floats((shown.times.size,))
    _shares(shown.tokens, centers, radius, shares)
    write(table, SHARES, shares)


@njit(allocates=True)
def _shares(tokens: Array, centers: Indices, radius: float, out: Array) -> None:
    counts = count_near(tokens, centers, radius)
    for i in range(out.size):
        out[i] = counts[i] / tokens.shape[1]


def _foretell(table: Any) -> int:
    law, run, found = _read_law(table, INPUT), _read_run(table, RUN), _read_found(table, FOUND)
    beta, value, radius = law.numbers
    n, end = run.tokens.shape[1], run.times[run.times.size - 1]
    given = Given(
        run.tokens[0], law.query, law.key, law.basis, law.projection, beta, value, radius, end
    )
    room = Told(floats((n,)), integers((n,)), integers((n,)), integers((2,)))
    many = scene_forecast.forecast(given, found.events, room)
    some = max(many, 0)
    told = Told(room.times[:some], room.absorbed[:some], room.into[:some], room.right)
    write(table, TOLD, told)
    return many
