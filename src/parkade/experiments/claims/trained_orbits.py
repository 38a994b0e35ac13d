"""The tied layer of ALBERT, repeated: whether tokens end in exact clusters on an orbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained_models import SMALL, empty, on_models, texts_for
from parkade.experiments.experiment import TRAINED, Effort

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from parkade.trained.model import Trained
    from parkade.trained.study import Iterated


def verdict_on(found: list[Iterated]) -> Judgement:
    """Every text in fewer points than half of its tokens, and all of them repeat; or not yet."""
    ends = [one.ending for one in found]
    if any(end is None for end in ends):
        return "contradicts"
    known = [(end, one.tokens) for end, one in zip(ends, found, strict=True) if end is not None]
    if all(len(end.clusters) <= n / 2 and end.period is not None for end, n in known):
        return "agrees"
    settled = [(end, n) for end, n in known if end.period is not None]
    return "contradicts" if any(len(end.clusters) > n / 2 for end, n in settled) else "undecided"


def measure(models: list[Trained], effort: Effort) -> Evidence:
    """Iterate the layer on some reactions."""
    from parkade.trained.study import iterations

    (model,) = models
    count, times = effort.choose((1, 400), (6, 6000))
    found = iterations(model, texts_for(model, count), times, report=effort.report)
    ends = [one.ending for one in found if one.ending is not None]
    clusters = sorted(len(end.clusters) for end in ends)
    periods = [end.period for end in ends]
    known = sorted({p for p in periods if p is not None})
    moving = periods.count(None)
    return Evidence(
        verdict=verdict_on(found),
        measured=f"{clusters[0]}–{clusters[-1]} points, periods {known or '–'}, {moving} of "
        f"{len(ends)} move on",
        false_alarm=0.0,  # a map from a given start has one end
        numbers={"times": times, "texts": [one.to_dict() for one in found]},
        data={"found": found},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the number of points over the steps."""
    ax = figure.subplots()
    if empty(evidence):
        ax.text(0.5, 0.5, evidence.measured, ha="center", transform=ax.transAxes)
        return
    for one in evidence.data["found"]:
        if one.ending is not None:
            steps = np.arange(len(one.ending.counts)) + 1
            ax.plot(steps, one.ending.counts, linewidth=1, label=f"reaction {one.text + 1}")
    ax.set(xscale="log", yscale="log", xlabel="times applied + 1", ylabel="points")
    ax.legend()


CLAIM = Claim(
    name="iterated-clusters",
    title="The tied layer of ALBERT, repeated, ends in exact clusters that repeat their orbit",
    paper=TRAINED,
    status="observed",
    prediction="fewer points than n/2, and a period, for each text",
    measure=on_models(measure, all_=SMALL),
    draw=draw,
)
