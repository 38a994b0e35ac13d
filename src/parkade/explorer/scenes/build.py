"""From a run to a scene: everything the page draws, as one JSON object."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.centers import KINDS, consumption_radius, separation
from parkade.analysis.clusters import consumption
from parkade.base.errors import InputError
from parkade.base.numbers import finite
from parkade.base.types import Array
from parkade.explorer.scenes import describe
from parkade.explorer.scenes.forecast import forecast
from parkade.explorer.scenes.frames import frame_times
from parkade.explorer.scenes.groups import groups
from parkade.explorer.scenes.proved import proved
from parkade.explorer.scenes.text import Text
from parkade.explorer.scenes.theory_line import theory_line
from parkade.explorer.settings.equation import equation
from parkade.explorer.settings.settings import Settings
from parkade.model.model import Model
from parkade.model.scheduled import Scheduled
from parkade.proof.certificate import Certificate
from parkade.runs.path import Path
from parkade.runs.trajectory import Trajectory
from parkade.theory import paper
from parkade.theory.merge_tree import MergeTree

FORMAT = "parkade scene 1"

_TOKENS = 2**16  # labels are 16 bits wide


def build(
    run: Path,
    settings: Settings | None = None,
    *,
    text: Text | None = None,
    certificate: Certificate | None = None,
    checkpoint: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The scene of a run.

    Parameters
    ----------
    run : Path
    settings : Settings, optional
        Those the run was made with, if it was made by the explorer.
    text : Text, optional
        Title and attention of a text, whose layers are the times of the path. A path without a
        model whose tokens have words is such a text by itself.
    certificate : Certificate, optional
        What is proved of the run, on its time line.
    checkpoint : function
        Called now and then; what it raises ends the computation.

    Returns
    -------
    dict
        Ready for JSON. What needs a model (beta, mask, A or heads, V, equation, delta, centers,
        consumption, theory, forecast) is None without one, and so are settings, stats and ln r if
        they are not known, and plateaus and merges where clusters part again. The page hides what
        it cannot show.
    """
    model = run.model
    if text is None and run.words is not None and model is None:
        text = Text()
    held = np.empty(0, dtype=np.int64) if settings is None else settings.held
    n, d = len(run.final) + len(held), run.tokens.shape[2]
    if n > _TOKENS:
        raise InputError(f"a page shows at most {_TOKENS} tokens, got {n}; simulate fewer")
    whole = put_back(run, held)
    times = frame_times(whole)
    shown = Path(times, whole.at(times), model)
    checkpoint()
    clusters = groups(whole, shown, text is not None, checkpoint)
    tree = clusters.tree
    expected = None if tree is None else forecast(run, tree)
    checkpoint()
    delta = None
    if model is not None:
        c = paper.SEPARATION if settings is None else settings.c
        delta = separation(c, _beta(model))
    return {
        "format": FORMAT,
        "label": describe.label(whole, model, settings),
        "file_name": describe.file_name(whole, model, settings),
        "facts": describe.facts_of(whole, model, settings, delta),
        "settings": None if settings is None else settings.to_dict(),
        "n": n,
        "d": d,
        "times": times.tolist(),
        "frames": _packed(shown.tokens, "<f4"),
        "log_radii": _log_radii(whole, times),
        "radius": clusters.radius,
        "labels": _packed(clusters.labels, "<u2"),
        "clusters": clusters.counts.tolist(),
        "axes": _axes(shown.tokens) if d > 3 else None,
        **_of_tree(tree),
        "forecast": expected,
        **_of_model(model, settings is not None and settings.growth > 0),
        **_of_schedule(model, times),
        **_of_centers(shown, model, delta),
        "frozen": run.frozen.tolist(),
        "frozen_weights": run.frozen_weights.tolist(),
        "frozen_tokens": held.tolist(),
        "theory": theory_line(run, int(clusters.counts[-1])),
        "stats": _stats(run),
        "trusted_until": finite(run.trusted_until),
        "phase_known_until": finite(run.phase_known_until),
        **({} if run.words is None else {"words": list(run.words)}),
        **({} if text is None else text.to_scene(shown)),
        **({} if certificate is None else {"proved": proved(certificate)}),
    }


def _of_model(model: Model | None, grows: bool) -> dict[str, Any]:
    """What the page computes attention with, and what it says about the model."""
    if model is None:
        return dict.fromkeys(("beta", "mask", "A", "heads", "V", "equation"))
    if isinstance(model, Scheduled):
        # With β = 1: the page multiplies it by that of the moment.
        first: Any = model.model
        return {
            **_of_model(first.with_beta(1.0), grows),
            "beta": first.beta,
            "equation": equation(model, grows),
        }
    product, values, mask = model.product, model.generator, model.mask
    return {
        "beta": model.beta,
        "mask": None if mask is None else str(mask),
        "A": None if product is None else (_beta(model) * product).tolist(),
        "heads": None if product is not None else _heads(model),
        "V": None if values is None else values.tolist(),
        "equation": equation(model),
    }


def _of_schedule(model: Model | None, times: Array) -> dict[str, Any]:
    """β in each frame, if it changes."""
    if not isinstance(model, Scheduled):
        return {"betas": None}
    return {"betas": [model.schedule(t) for t in times.tolist()]}


def _heads(model: Model) -> list[dict[str, Any]] | None:
    """What the page computes the weights of heads with."""
    heads = [
        {
            "query": one.query.tolist(),
            "key": one.key.tolist(),
            "frequencies": one.frequencies.tolist(),
            "slope": one.slope,
        }
        for one in model.scores
    ]
    return heads or None


def _log_radii(run: Path, times: Array) -> str | None:
    """The ln r of tokens in each frame, (F, n): the lengths may be too large for 32 bits."""
    if run.radii is None:
        return None
    if isinstance(run, Trajectory):
        return _packed(np.log(run.radii_at(times)), "<f4")
    return _packed(np.log(run.radii[np.searchsorted(run.times, times)]), "<f4")


def _beta(model: Model) -> float:
    """β, at the start if it changes, or how sharp the interaction is where there is no single β."""
    if isinstance(model, Scheduled):
        model = model.model
    return model.sharpness if model.beta is None else model.beta


def _of_centers(shown: Path, model: Model | None, delta: float | None) -> dict[str, Any]:
    """The centres of the start, and which share of the tokens they consume in each frame."""
    if model is None or delta is None:
        return dict.fromkeys(("delta", "centers", "consumption"))
    centers = {name: find(shown.tokens[0], delta) for name, find in KINDS.items()}
    radius = consumption_radius(_beta(model))
    shares = {name: consumption(shown, who, radius).tolist() for name, who in centers.items()}
    return {
        "delta": delta,
        "centers": {"delta": delta, **{name: who.tolist() for name, who in centers.items()}},
        "consumption": {"radius": radius, **shares},
    }


def _stats(run: Path) -> dict[str, Any] | None:
    """How the run was computed."""
    if not isinstance(run, Trajectory):
        return None
    names = ("method", "reason", "engine", "steps", "seconds")
    return {name: getattr(run.stats, name) for name in names}


def put_back(run: Path, held: NDArray[np.int64]) -> Path:
    """The run with its frozen tokens among the others again, at the indices `held`."""
    if not isinstance(run, Trajectory) or not len(held):
        return run
    steps, free_tokens, d = run.tokens.shape
    n = free_tokens + len(held)
    free = np.setdiff1d(np.arange(n), held)
    tokens = np.empty((steps, n, d))
    tokens[:, free], tokens[:, held] = run.tokens, run.frozen
    dense = radii = None
    if run.dense is not None:
        # Dense arrays hold what a step adds to a straight line: nothing, for a point at rest.
        dense = np.zeros((*run.dense.shape[:2], n, run.dense.shape[3]))
        dense[:, :, free] = run.dense
    if run.radii is not None:
        radii = np.ones((steps, n))
        radii[:, free] = run.radii
    return replace(run, tokens=tokens, radii=radii, dense=dense)


def _of_tree(tree: MergeTree | None) -> dict[str, Any]:
    """The merges and the plateaus between them."""
    if tree is None:
        return {"plateaus": None, "merges": None}
    return {
        "plateaus": [
            {"start": p.start, "end": p.end, "clusters": p.clusters, "lifetime": p.lifetime}
            for p in tree.plateaus
        ],
        "merges": [
            {"t": e.time, "absorbed": e.absorbed, "into": e.into, "size": e.size}
            for e in tree.events
        ],
    }


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


def _packed(values: NDArray[Any], dtype: str) -> str:
    """An array as base64 of little-endian numbers, in C order."""
    return base64.b64encode(values.astype(dtype).tobytes()).decode("ascii")
