"""The tied layer of ALBERT, repeated: whether tokens end in exact clusters, and on orbits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import SMALL, on_models, texts_for, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst

if TYPE_CHECKING:
    from parkade.trained.model import Trained
    from parkade.trained.study import Iterated


def verdict_on(iterated: list[Iterated]) -> Judgement:
    """Whether every text is in at most n/2 points; undecided while their number still falls."""
    verdicts: list[Judgement] = []
    for one in iterated:
        if one.ending is None:
            return "contradicts"
        counts = one.ending.counts
        falls = counts[len(counts) // 2] > counts[-1]
        few = len(one.ending.clusters) <= one.tokens / 2
        verdicts.append("agrees" if few else "undecided" if falls else "contradicts")
    return worst(verdicts)


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Iterate the layer on some reactions."""
    from parkade.trained.study import iterations

    (model,) = models
    count, times = setup.choose((1, 1200), (6, 3000))
    iterated = iterations(model, texts_for(model, count), times, report=setup.report)
    ends = [one.ending for one in iterated if one.ending is not None]
    points = [len(end.clusters) for end in ends]
    low, high = min(points), max(points)
    span = f"{low}–{high}" if low < high else f"{low}"
    periods = [end.period for end in ends]
    known = sorted({p for p in periods if p is not None})
    moving = periods.count(None)
    return Evidence(
        verdict=verdict_on(iterated),
        measured=f"points: {span}; still moving: {moving} of {len(ends)} texts"
        + (f"; periods: {', '.join(map(str, known))}" if known else ""),
        false_alarm=0.0,  # a map from a given start has one end
        numbers={"times": times, "texts": [one.to_dict() for one in iterated]},
        data={"iterated": iterated},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the number of points over the steps."""
    ax = figure.subplots()
    for one in evidence.data["iterated"]:
        if one.ending is not None:
            steps = np.arange(len(one.ending.counts)) + 1
            ax.plot(steps, one.ending.counts, linewidth=1, label=f"reaction {one.text + 1}")
    ax.set(xscale="log", yscale="log", xlabel="times applied + 1", ylabel="points")
    ax.legend()


CLAIM = Claim(
    name="iterated-clusters",
    title="The tied layer of ALBERT, repeated, leaves a few exact clusters",
    paper=TRAINED,
    status="observed",
    prediction="at most n/2 points, equal to 1e-6, for each text",
    measure=on_models(measure, all_=SMALL),
    draw=unless_missing(draw),
)
