"""One line of theory for a run: what is predicted, what was seen, and whether they agree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parkade.analysis import sentences
from parkade.analysis.ending import AT, WITHIN, as_predicted, distance, rests
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.model import Model
from parkade.model.scheduled import Scheduled
from parkade.model.transformer import Transformer
from parkade.runs.path import Path
from parkade.theory import FinalConfiguration, capture_window, final_configuration

SENTENCES = {
    "constant": "Nothing: the theory is for a constant β.",
    "plain": "Nothing: the theory is for a single head under post-norm, without noise.",
    "full": "Full attention has no leader: the table of final configurations is for the causal "
    "mask.",
    "masked": "Nothing: the table of final configurations is for the causal mask.",
    "ends": "{clusters}{closeness} at t = {time}",
    "moving": "; the run ends before it comes to rest",
    "cluster": "1 cluster",
    "clusters": "{count} clusters",
    "near": "every free token within {near:.2g} rad of {held} at t = {time}",
    "held": "one of the {count} frozen tokens",
    "alone": "the frozen token",
    "circle": "Theorem 5.2 on frozen centres is for the circle with Q = K = V = I, β > 0.",
    "captured": "Every free token ends within {reach:.2g} rad of a frozen one. {window}",
}
"""What lines say; pages that compute by themselves fill in the same sentences."""

MOST_RESTING = 64
"""Up to this many tokens it is quick to check whether they rest."""


def theory_line(run: Path, clusters: int) -> dict[str, Any] | None:
    """The line for the moving tokens of `run`, which ends with this number of clusters.

    None if the theory knows no such model.
    """
    model = run.model
    changes = isinstance(model, Scheduled)
    if changes or (isinstance(model, Transformer) and not model.plain):
        predicted = SENTENCES["constant" if changes else "plain"]
        return _line("outside", predicted, _ends(run, clusters, ""), None)
    if model is None or model.generator is None or model.product is None:
        return None
    if len(run.frozen):
        return _among_frozen(run, model)
    final = final_configuration(model.generator)
    seen = _ends(run, clusters, sentences.closeness(final, run.final))
    if model.mask != "causal":
        predicted = SENTENCES["full" if model.mask == "full" else "masked"]
        return _line(final.kind, predicted, seen, None)
    agrees = _agrees(run, model, final)
    if agrees is None and final.kind in ("one point", "two points"):
        seen += SENTENCES["moving"]
    return _line(final.kind, final.sentence, seen, agrees)


def _agrees(run: Path, model: Model, final: FinalConfiguration) -> bool | None:
    """Whether the end is as predicted; None if that cannot be decided, or not yet."""
    start, end = run.tokens[0], run.final
    if final.kind == "outside":
        return None
    if final.kind == "rotation":
        return True if final.angles(end).max() < AT else None
    if final.kind in ("cloud", "two clouds"):
        # What counts as a cloud is measured on S² only.
        return as_predicted(final, start, end) if model.d == 3 and final.dim < 3 else None
    if as_predicted(final, start, end):
        return True
    # Tokens on their way to a point are no counterexample, unless they rest elsewhere.
    return False if len(end) <= MOST_RESTING and _slow(model, end) and rests(model, end) else None


def _slow(model: Model, end: Array) -> bool:
    """Whether the tokens may be at rest at the end: a quick check that rules out most runs."""
    # No token returns faster than this.
    rate = model.rate * (2 + 2 * model.sharpness)
    return float(np.abs(model.velocity(end)).max()) < 1e-3 * WITHIN * rate


def _among_frozen(run: Path, model: Model) -> dict[str, Any]:
    """The line of Theorem 5.2, where it applies."""
    near = distance(run.final, run.frozen)
    count = len(run.frozen)
    held = SENTENCES["alone" if count == 1 else "held"].format(count=count)
    seen = SENTENCES["near"].format(near=near, held=held, time=_time(run))
    beta = model.beta or 0.0
    if not _plain(model):
        return _line("frozen", SENTENCES["circle"], seen, None)
    window = capture_window(
        N=len(run.final) + float(run.frozen_weights.sum()),
        c=_closest(run.frozen) * math.sqrt(beta),
        beta=beta,
    )
    if window.eps is None or run.frozen_weights.min() < 1:
        return _line("frozen", window.sentence, seen, None)
    reach = window.eps / math.sqrt(beta)
    predicted = SENTENCES["captured"].format(reach=reach, window=window.sentence)
    return _line("frozen", predicted, seen, True if near <= reach else None)


def _plain(model: Model) -> bool:
    """Whether it is the circle with KᵀQ = V = I."""
    matrices = (model.product, model.generator)
    same = all(m is not None and np.array_equal(m, np.eye(2)) for m in matrices)
    return model.d == 2 and bool(model.beta) and same


def _closest(points: Array) -> float:
    """The smallest distance between two of the points; π if there is only one."""
    gaps = [float(sphere.distance(points[i + 1 :], p).min()) for i, p in enumerate(points[:-1])]
    return min(gaps, default=math.pi)


def _ends(run: Path, count: int, closeness: str) -> str:
    """A sentence about the end of a run: how many clusters, how close to L, and when."""
    clusters = SENTENCES["cluster" if count == 1 else "clusters"].format(count=count)
    return SENTENCES["ends"].format(clusters=clusters, closeness=closeness, time=_time(run))


def _line(kind: str, predicted: str, seen: str, agrees: bool | None) -> dict[str, Any]:
    return {"kind": kind, "predicted": predicted, "seen": seen, "agrees": agrees}


def _time(run: Path) -> str:
    """The last time in words."""
    return f"{float(run.times[-1]):.4g}".replace("e+0", "e").replace("e+", "e")
