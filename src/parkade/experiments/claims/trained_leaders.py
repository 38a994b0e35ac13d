"""Whether early tokens lead in forward passes of trained models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained_models import (
    ALARM,
    empty,
    interval,
    on_models,
    states_of,
    texts_for,
)
from parkade.experiments.experiment import TRAINED, Effort
from parkade.experiments.statistics import worst

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from parkade.trained.model import Trained

LITTLE = 0.05
"""If early tokens lead by less than this share of all tokens, they do not lead."""


def judge(low: float, high: float) -> Judgement:
    """Whether there are fewer centres forward, by an interval for reversed − forward."""
    if low > 0:
        return "agrees"
    return "contradicts" if high < LITTLE else "undecided"


def measure(models: list[Trained], effort: Effort) -> Evidence:
    """Count strong centres forward, reversed, and in any order."""
    from parkade.trained.measures import center_counts

    causal = [model for model in models if model.causal]
    rows: dict[str, Any] = {}
    for i, model in enumerate(models):
        found = center_counts(states_of(model, texts_for(model)))
        # The last layers tell whether early tokens were joined on the way.
        deep = slice(model.layers // 2, None)
        led = (found.nulls["reversed"] - found.values)[:, deep].mean(axis=1)
        low, high = interval(led, ALARM / max(1, len(causal)))
        rows[model.name] = {
            "causal": model.causal,
            "texts": found.texts,
            "forward": float(found.values[:, deep].mean()),
            "reversed": float(found.nulls["reversed"][:, deep].mean()),
            "permuted": float(found.nulls["permuted"][:, deep].mean()),
            "led": float(led.mean()),
            "interval": [low, high],
            "curves": found.to_dict(),
        }
        effort.report((i + 1) / len(models))
    verdict = (
        worst(judge(*rows[model.name]["interval"]) for model in causal) if causal else "undecided"
    )
    shown = causal or models
    words = ", ".join(
        f"{rows[m.name]['forward']:.2f}/{rows[m.name]['reversed']:.2f}" for m in shown
    )
    return Evidence(
        verdict=verdict,
        measured=f"{words} of tokens forward/reversed{'' if causal else ' (no mask)'}",
        false_alarm=ALARM,
        numbers={"models": rows},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the shares of strong centres over depth."""
    from parkade.plots import style

    if empty(evidence):
        ax = figure.subplots()
        ax.text(0.5, 0.5, evidence.measured, ha="center", transform=ax.transAxes)
        return
    found = evidence.numbers["models"]
    axes = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for ax, (name, row) in zip(axes, found.items(), strict=True):
        curves = row["curves"]
        depth = np.arange(len(curves["mean"]))
        ax.fill_between(depth, *curves["band"], color=style.BLUE, alpha=0.25, linewidth=0)
        ax.plot(depth, curves["mean"], color=style.BLUE, label="forward")
        for null, color in (("reversed", style.VERMILLION), ("permuted", style.GREY)):
            ax.plot(depth, curves["nulls"][null]["mean"], color=color, label=null)
        ax.set(xlabel="layer", title=f"{name}{'' if row['causal'] else ' (no mask)'}")
    axes[0].set_ylabel("share of strong centres")
    axes[0].legend()


CLAIM = Claim(
    name="leaders",
    title="Early tokens lead in forward passes: fewer centres forward than reversed",
    paper=TRAINED,
    status="conjecture",
    prediction="fewer strong centres forward than reversed",
    measure=on_models(measure),
    draw=draw,
)
