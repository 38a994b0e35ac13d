"""Functions that a page calls to turn steps into a scene, on a table of slots as in `entries`.

`begin` makes room for the steps of a run, and `take` adds some. `show` chooses frames, `merge`
finds clusters, and `label` labels them in each frame; `link` does so for clusters that may split;
`consume` counts tokens around centres. `predict` computes the final configuration, and `forecast`
the merges; `judge` compares the end with the prediction, and `capture` with Theorem 5.2. Their
results stay in the table, for the page and for later functions.
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
    """The frames of a scene."""

    times: Array  # (F,)
    tokens: Array  # (F, n, d)
    logs: Array  # (F, n): ln r, or (0, 0)


class ClusterArrays(NamedTuple):
    """The clusters of a run: merges, plateaus, and when each token arrives at another."""

    events: MergeEvents
    plateaus: PlateauArrays
    arrivals: Array  # (n,)


class SceneModel(NamedTuple):
    """The model that moves the tokens."""

    product: Array  # (d, d): KᵀQ
    value: Array  # (d, d): V
    numbers: Array  # (4,): β, |V|, β|KᵀQ|, and the radius of clusters


class FrameLabels(NamedTuple):
    """The leader of each token in each frame, and the number of clusters."""

    leaders: Indices  # (F, n)
    counts: Indices  # (F,)


def entries() -> Entries:
    """All functions with their signatures, by the names under which the page calls them."""
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
_read_model = reader(typeof(SceneModel(_TWO, _TWO, _ONE)))
_read_indices = reader(typeof(_WHOLE))
_read_steps, _read_run, _read_frames, _read_clusters, _read_final = (
    reader(typeof(_KINDS[place])) for place in (INPUT, RUN, FRAMES, CLUSTERS, FINAL)
)


def _begin(table: Any) -> None:
    start = _read_start(table, INPUT)
    n, d = start.tokens.shape
    steps, dense, lengths = start.steps, start.dense, start.lengths
    plane = floats((2, d))
    run = SceneRun(
        start.method,
        floats((steps + 1,)),
        floats((steps + 1, n, d)),
        floats((steps, dense, n, d)),
        floats((lengths * (steps + 1), lengths * n)),
        floats((lengths * steps, lengths * dense, lengths * n)),
        plane,
        scene_run.plane_of(start.spin, plane),
    )
    scene_run.begin(run, start.tokens)
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
    _, rate, _, radius = _read_model(table, INPUT).numbers
    n, end = run.tokens.shape[1], run.times[run.times.size - 1]
    room = MergeEvents(floats((n,)), integers((n,)), integers((n,)), integers((n,)))
    merged = scene_merges.merges(run, radius, halvings, room)
    arrivals = floats((n,))
    scene_merges.arrivals(room, merged, arrivals)
    more = PlateauArrays(floats((n + 1,)), floats((n + 1,)), floats((n + 1,)), integers((n + 1,)))
    forming = FORMING_TIME / (rate if rate > 0.0 else 1.0)
    long = scene_merges.plateaus(arrivals, end, forming, more)
    events = MergeEvents(
        room.times[:merged], room.absorbed[:merged], room.into[:merged], room.sizes[:merged]
    )
    plateaus = PlateauArrays(
        more.starts[:long], more.ends[:long], more.lifetimes[:long], more.clusters[:long]
    )
    write(table, CLUSTERS, ClusterArrays(events, plateaus, arrivals))


def _label(table: Any) -> None:
    frames, clusters = _read_frames(table, FRAMES), _read_clusters(table, CLUSTERS)
    count, n = frames.tokens.shape[0], frames.tokens.shape[1]
    leaders, counts = integers((count, n)), integers((count,))
    for i in range(count):
        counts[i] = scene_merges.leaders(
            frames.tokens[i], clusters.arrivals, frames.times[i], leaders[i]
        )
    write(table, LABELS, FrameLabels(leaders, counts))


def _consume(table: Any, radius: float) -> None:
    frames, centers = _read_frames(table, FRAMES), _read_indices(table, INPUT)
    shares = floats((frames.times.size,))
    _shares(frames.tokens, centers, radius, shares)
    write(table, OUTPUT, shares)


@njit(allocates=True)
def _shares(tokens: Array, centers: Indices, radius: float, out: Array) -> None:
    counts = count_near(tokens, centers, radius)
    for i in range(out.size):
        out[i] = counts[i] / tokens.shape[1]


def _link(table: Any, radius: float) -> None:
    frames = _read_frames(table, FRAMES)
    count, n = frames.tokens.shape[0], frames.tokens.shape[1]
    leaders, counts = integers((count, n)), integers((count,))
    for i in range(count):
        counts[i] = _linked(frames.tokens[i], radius, leaders[i])
    write(table, LABELS, FrameLabels(leaders, counts))


@njit(allocates=True)
def _linked(x: Array, radius: float, out: Indices) -> int:
    labels, count = components(x, radius), 0
    for k in range(out.size):
        out[k] = labels[k]
        count += labels[k] == k
    return count


def _predict(table: Any) -> None:
    V = _read_model(table, INPUT).value
    d = V.shape[0]
    out = FinalNumbers(floats((8,)), floats((d, d)), floats((d, d)), floats((d,)))
    scene_final.final(V, out)
    write(table, FINAL, out)


def _forecast(table: Any) -> int:
    model, run = _read_model(table, INPUT), _read_run(table, RUN)
    clusters, final = _read_clusters(table, CLUSTERS), _read_final(table, FINAL)
    n, end = run.tokens.shape[1], run.times[run.times.size - 1]
    room = ForecastMerges(floats((n,)), integers((n,)), integers((n,)), integers((2,)))
    beta, _, _, radius = model.numbers
    inputs = ForecastInput(run.tokens[0], model.product, final, beta, radius, end)
    merged = scene_forecast.forecast(inputs, clusters.events, room)
    last = max(merged, 0)
    result = ForecastMerges(room.times[:last], room.absorbed[:last], room.into[:last], room.right)
    write(table, FORECAST, result)
    return merged


def _judge(table: Any, causal: int) -> None:
    model, run, final = _read_model(table, INPUT), _read_run(table, RUN), _read_final(table, FINAL)
    beta, rate, sharpness, _ = model.numbers
    out = floats((2,))
    ending = EndingModel(model.product, model.value, beta, rate, sharpness)
    scene_ending.judge(ending, run, final, causal != 0, out)
    write(table, OUTPUT, out)


def _capture(table: Any, beta: float) -> int:
    """Whether there is a window; write how near free tokens are, N, c, ε and its limits."""
    run, held = _read_run(table, RUN), _read_indices(table, INPUT)
    out = floats((6,))
    fits = scene_capture.capture(run.tokens[0], run.tokens[run.times.size - 1], held, beta, out)
    write(table, OUTPUT, out)
    return fits
