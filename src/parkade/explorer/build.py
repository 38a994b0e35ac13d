"""From a run to a scene: all that the page draws, as one JSON object."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.clusters import cluster_labels, consumption, default_radius, merge_tree
from parkade.analysis.tree import MergeTree
from parkade.base.errors import InputError
from parkade.base.numbers import finite
from parkade.base.types import Array
from parkade.explorer.frames import frame_times
from parkade.explorer.settings import CENTERS, Settings, separation
from parkade.explorer.verdict import verdict
from parkade.runs.trajectory import Trajectory

FORMAT = "parkade scene 1"

_TOKENS = 2**16  # labels are 16 bits wide
_HALVINGS = 8  # a merge is found to a pixel
_C = 4.0  # δ = cβ^{-1/2} for a run that does not say, as in the paper


def build(
    run: Trajectory,
    settings: Settings | None = None,
    *,
    pause: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The scene of a run.

    Parameters
    ----------
    run : Trajectory
    settings : Settings, optional
        Those the run was made with, if it was.
    pause : function
        Called every now and then; what it raises ends the work.

    Returns
    -------
    dict
        Ready for JSON.
    """
    n, d = len(run.final), run.model.d
    held = np.empty(0, dtype=np.int64) if settings is None else settings.held
    if n + len(held) > _TOKENS:
        raise InputError(f"a page shows at most {_TOKENS} tokens, got {n}; simulate fewer")
    theory = verdict(run)
    frozen, weights = run.frozen, run.frozen_weights
    whole = _put_back(run, held)
    pause()
    tree = merge_tree(whole, halvings=_HALVINGS)
    pause()
    times = frame_times(whole)
    shown = replace(whole, times=times, tokens=whole.at(times), dense=None)
    pause()
    model = run.model
    c = _C if settings is None else settings.c
    delta = separation(c, model.beta)
    centers = {name: find(shown.tokens[0], delta) for name, find in CENTERS.items()}
    radius = 0.5 / math.sqrt(max(1.0, model.beta))
    return {
        "format": FORMAT,
        "settings": None if settings is None else settings.to_dict(),
        "n": whole.tokens.shape[1],
        "d": d,
        "beta": model.beta,
        "mask": model.mask,
        "delta": delta,
        "times": times.tolist(),
        "frames": _packed(shown.tokens, "<f4"),
        "labels": _packed(_labels(shown, pause), "<u2"),
        "clusters": tree.count(times).tolist(),
        "A": (model.beta * model.K.T @ model.Q).tolist(),
        "V": model.V.tolist(),
        "axes": _axes(shown.tokens) if d > 3 else None,
        "plateaus": _plateaus(tree),
        "merges": [
            {"t": e.time, "absorbed": e.absorbed, "into": e.into, "size": e.size}
            for e in tree.events
        ],
        "centers": {"delta": delta, **{name: who.tolist() for name, who in centers.items()}},
        "consumption": {
            "radius": radius,
            **{name: consumption(shown, who, radius).tolist() for name, who in centers.items()},
        },
        "frozen": frozen.tolist(),
        "frozen_weights": weights.tolist(),
        "frozen_tokens": held.tolist(),
        "theory": theory,
        "stats": {
            "method": run.stats.method,
            "reason": run.stats.reason,
            "engine": run.stats.engine,
            "steps": run.stats.steps,
            "seconds": run.stats.seconds,
        },
        "trusted_until": finite(run.trusted_until),
        "phase_known_until": finite(run.phase_known_until),
    }


def _put_back(run: Trajectory, held: NDArray[np.int64]) -> Trajectory:
    """The run with its frozen tokens among the others again, at the indices `held`."""
    if not len(held):
        return run
    n = len(run.final) + len(held)
    free = np.setdiff1d(np.arange(n), held)
    tokens = np.empty((len(run.times), n, run.model.d))
    tokens[:, free], tokens[:, held] = run.tokens, run.frozen
    dense = None
    if run.dense is not None:
        # Dense arrays hold what a step adds to a straight line: nothing, for a point at rest.
        dense = np.zeros((*run.dense.shape[:2], n, run.model.d))
        dense[:, :, free] = run.dense
    return replace(run, tokens=tokens, dense=dense)


def _labels(shown: Trajectory, pause: Callable[[], None]) -> NDArray[np.int64]:
    """The cluster of each token in each frame, named by its earliest token, (F, n)."""
    radius = default_radius(shown.model)
    labels = np.empty(shown.tokens.shape[:2], dtype=np.int64)
    for i, x in enumerate(shown.tokens):
        labels[i] = cluster_labels(x, radius)
        pause()
    return labels


def _plateaus(tree: MergeTree) -> list[dict[str, Any]]:
    return [
        {"start": p.start, "end": p.end, "clusters": p.clusters, "lifetime": p.lifetime}
        for p in tree.plateaus
    ]


def _axes(frames: Array) -> dict[str, Any]:
    """The three directions in which the tokens of all frames differ most."""
    points = frames.reshape(-1, frames.shape[-1])
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :3].T
    largest = axes[range(3), np.abs(axes).argmax(axis=1)]
    shares = np.maximum(values[::-1][:3], 0) / (values.sum() or 1.0)
    return {
        "directions": (axes * np.where(largest < 0, -1.0, 1.0)[:, None]).tolist(),
        "variance": shares.tolist(),
    }


def _packed(values: NDArray[Any], kind: str) -> str:
    """An array as base64 of little-endian numbers, in C order."""
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
