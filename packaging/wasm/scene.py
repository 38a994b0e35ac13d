"""What a page calls to make a scene of steps: functions on a table of slots, as in `entries`.

`begin` makes room for the steps of a run, `take` adds some. `show` chooses frames, `merge` finds
clusters and `label` names them in each frame; `link` names clusters that part again; `consume`
counts tokens around centres. `predict` is the final configuration, `forecast` the forecast of
merges; `judge` compares the end with what is predicted, and `capture` with Theorem 5.2. What they
find stays in the table, for the page and for those that come later.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from entries import Entries
from numba import typeof, types
from scenes import capture as scene_capture
from scenes import ending as scene_ending
from scenes import final as scene_final
from scenes import forecast as scene_forecast
from scenes import frames as scene_frames
from scenes import merges as scene_merges
from scenes import run as scene_run
from scenes.ending import EndingModel
from scenes.final import FinalNumbers
from scenes.forecast import ForecastInput, ForecastMerges
from scenes.merges import MergeEvents, PlateauArrays
from scenes.run import Indices, SceneRun, StepChunk
from slots import TABLE, count, floats, integers, reader, write

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.search.neighbours import components, count_near
from parkade.explorer.standalone.shared import INPUT, SCENE
from parkade.theory.meeting import FORMING_TIME

RUN, FRAMES, CLUSTERS, LABELS, FINAL, FORECAST, OUTPUT = SCENE.values()


class RunStart(NamedTuple):
    """Where a run starts, and how much room its steps take."""

    tokens: Array  # (n, d): all of them
    spin: Array  # (d, d): generator of the frame's rotation
    method: int
    steps: int
    dense: int
    lengths: int  # 1 if tokens have lengths, else 0


class FrameArrays(NamedTuple):
    """The frames."""

    times: Array  # (F,)
    tokens: Array  # (F, n, d)
    logs: Array  # (F, n): ln r, or (0, 0)


class ClusterArrays(NamedTuple):
    """Clusters."""

    events: MergeEvents
    plateaus: PlateauArrays
    arrivals: Array  # (n,)


class SceneModel(NamedTuple):
    """What moves tokens."""

    product: Array  # (d, d): KᵀQ
    value: Array  # (d, d): V
    numbers: Array  # (4,): β, |V|, β|KᵀQ|, and the radius of clusters


class FrameLabels(NamedTuple):
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
        "merge": (_merge, types.void(TABLE, some)),
        "label": (_label, types.void(TABLE)),
        "link": (_link, types.void(TABLE, number)),
        "consume": (_consume, types.void(TABLE, number)),
        "predict": (_predict, types.void(TABLE)),
        "forecast": (_forecast, types.int32(TABLE)),
        "judge": (_judge, types.void(TABLE, some)),
        "capture": (_capture, types.int32(TABLE, number)),
    }


_ONE, _TWO, _THREE, _FOUR = (np.empty((1,) * rank) for rank in (1, 2, 3, 4))
_WHOLE = np.empty(1, dtype=np.int64)
_EVENTS, _PLATEAUS = MergeEvents(_ONE, *(_WHOLE,) * 3), PlateauArrays(*(_ONE,) * 3, _WHOLE)
_KINDS = {
    INPUT: StepChunk(_ONE, _THREE, _FOUR, _TWO, _WHOLE),
    RUN: SceneRun(1, _ONE, _THREE, _FOUR, _TWO, _THREE, _TWO, 1.0),
    FRAMES: FrameArrays(_ONE, _THREE, _TWO),
    CLUSTERS: ClusterArrays(_EVENTS, _PLATEAUS, _ONE),
    LABELS: FrameLabels(np.empty((1, 1), dtype=np.int64), _WHOLE),
    FINAL: FinalNumbers(_ONE, _TWO, _TWO, _ONE),
    FORECAST: ForecastMerges(_ONE, *(_WHOLE,) * 3),
    OUTPUT: (_ONE,),
}
_ENDS = [first + count(typeof(kind)) for first, kind in _KINDS.items()]
assert all(end <= first for end, first in zip(_ENDS, list(_KINDS)[1:], strict=False))

_read_start = reader(typeof(RunStart(_TWO, _TWO, 1, 1, 1, 1)))
_read_law = reader(typeof(SceneModel(_TWO, _TWO, _ONE)))
_read_which = reader(typeof(_WHOLE))
_read_steps, _read_run, _read_shown, _read_found, _read_final = (
    reader(typeof(_KINDS[place])) for place in (INPUT, RUN, FRAMES, CLUSTERS, FINAL)
)


def _begin(table: Any) -> None:
    given = _read_start(table, INPUT)
    n, d = given.tokens.shape
    steps, dense, lengths = given.steps, given.dense, given.lengths
    plane = floats((2, d))
    run = SceneRun(
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
    room = floats((scene_frames.MOST_FRAMES,))
    frames = scene_frames.frame_times(run, room)
    times = room[:frames]
    tokens = floats((frames, n, d))
    logs = floats((frames if run.logs.size > 0 else 0, n))
    for i in range(frames):
        scene_run.at(run, times[i], tokens[i])
        scene_run.turn(run, times[i], tokens[i])
        if run.logs.size > 0:
            scene_run.logs_at(run, times[i], logs[i])
    write(table, FRAMES, FrameArrays(times, tokens, logs))


def _merge(table: Any, halvings: int) -> None:
    run = _read_run(table, RUN)
    _, rate, _, radius = _read_law(table, INPUT).numbers
    n, end = run.tokens.shape[1], run.times[run.times.size - 1]
    room = MergeEvents(floats((n,)), integers((n,)), integers((n,)), integers((n,)))
    many = scene_merges.merges(run, radius, halvings, room)
    arrivals = floats((n,))
    scene_merges.arrivals(room, many, arrivals)
    more = PlateauArrays(floats((n + 1,)), floats((n + 1,)), floats((n + 1,)), integers((n + 1,)))
    forming = FORMING_TIME / (rate if rate > 0.0 else 1.0)
    long = scene_merges.plateaus(arrivals, end, forming, more)
    events = MergeEvents(
        room.times[:many], room.absorbed[:many], room.into[:many], room.sizes[:many]
    )
    plateaus = PlateauArrays(
        more.starts[:long], more.ends[:long], more.lifetimes[:long], more.clusters[:long]
    )
    write(table, CLUSTERS, ClusterArrays(events, plateaus, arrivals))


def _label(table: Any) -> None:
    shown, found = _read_shown(table, FRAMES), _read_found(table, CLUSTERS)
    frames, n = shown.tokens.shape[0], shown.tokens.shape[1]
    leaders, counts = integers((frames, n)), integers((frames,))
    for i in range(frames):
        counts[i] = scene_merges.leaders(
            shown.tokens[i], found.arrivals, shown.times[i], leaders[i]
        )
    write(table, LABELS, FrameLabels(leaders, counts))


def _consume(table: Any, radius: float) -> None:
    shown, centers = _read_shown(table, FRAMES), _read_which(table, INPUT)
    shares = floats((shown.times.size,))
    _shares(shown.tokens, centers, radius, shares)
    write(table, OUTPUT, shares)


@njit(allocates=True)
def _shares(tokens: Array, centers: Indices, radius: float, out: Array) -> None:
    counts = count_near(tokens, centers, radius)
    for i in range(out.size):
        out[i] = counts[i] / tokens.shape[1]


def _link(table: Any, radius: float) -> None:
    shown = _read_shown(table, FRAMES)
    frames, n = shown.tokens.shape[0], shown.tokens.shape[1]
    leaders, counts = integers((frames, n)), integers((frames,))
    for i in range(frames):
        counts[i] = _linked(shown.tokens[i], radius, leaders[i])
    write(table, LABELS, FrameLabels(leaders, counts))


@njit(allocates=True)
def _linked(x: Array, radius: float, out: Indices) -> int:
    labels, count = components(x, radius), 0
    for k in range(out.size):
        out[k] = labels[k]
        count += labels[k] == k
    return count


def _predict(table: Any) -> None:
    V = _read_law(table, INPUT).value
    d = V.shape[0]
    out = FinalNumbers(floats((8,)), floats((d, d)), floats((d, d)), floats((d,)))
    scene_final.final(V, out)
    write(table, FINAL, out)


def _forecast(table: Any) -> int:
    law, run = _read_law(table, INPUT), _read_run(table, RUN)
    found, final = _read_found(table, CLUSTERS), _read_final(table, FINAL)
    n, end = run.tokens.shape[1], run.times[run.times.size - 1]
    room = ForecastMerges(floats((n,)), integers((n,)), integers((n,)), integers((2,)))
    beta, _, _, radius = law.numbers
    given = ForecastInput(run.tokens[0], law.product, final, beta, radius, end)
    many = scene_forecast.forecast(given, found.events, room)
    some = max(many, 0)
    told = ForecastMerges(room.times[:some], room.absorbed[:some], room.into[:some], room.right)
    write(table, FORECAST, told)
    return many


def _judge(table: Any, causal: int) -> None:
    law, run, final = _read_law(table, INPUT), _read_run(table, RUN), _read_final(table, FINAL)
    beta, rate, sharpness, _ = law.numbers
    out = floats((2,))
    model = EndingModel(law.product, law.value, beta, rate, sharpness)
    scene_ending.judge(model, run, final, causal != 0, out)
    write(table, OUTPUT, out)


def _capture(table: Any, beta: float) -> int:
    """Whether there is a window; how near free tokens are, N, c, ε and its limits."""
    run, held = _read_run(table, RUN), _read_which(table, INPUT)
    out = floats((6,))
    fits = scene_capture.capture(run.tokens[0], run.tokens[run.times.size - 1], held, beta, out)
    write(table, OUTPUT, out)
    return fits
