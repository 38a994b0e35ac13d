"""Whether MLPs keep the tokens of trained models apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import (
    ALARM,
    draw_over_depth,
    interval,
    on_models,
    texts_for,
    unless_missing,
)
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst

if TYPE_CHECKING:
    from parkade.trained.model import Trained


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Compare the centred mean cosine at the end with and without MLPs."""
    from parkade.trained.study import ablate

    rows: dict[str, Any] = {}
    verdicts: list[Judgement] = []
    for i, model in enumerate(models):
        ablated = ablate(
            model, texts_for(model), ["no-mlp"], report=setup.part(i, len(models)).report
        )
        one = ablated["no-mlp"]
        closer = (one.values - one.nulls["trained"])[:, -1]
        low, high = interval(closer, ALARM / len(models))
        verdicts.append("agrees" if low > 0 else "contradicts" if high < 0 else "undecided")
        rows[model.name] = {**one.to_dict(), "interval": [low, high]}
    ends = ", ".join(
        f"{row['mean'][-1]:.2f}/{row['nulls']['trained']['mean'][-1]:.2f}" for row in rows.values()
    )
    return Evidence(
        verdict=worst(verdicts),
        measured=f"without/with: {ends}",
        false_alarm=ALARM,
        numbers={"models": rows},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the centred cosine over depth with and without MLPs."""
    from parkade.plots import style

    rows = evidence.numbers["models"]
    axes = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for ax, (name, row) in zip(axes, rows.items(), strict=True):
        layers = draw_over_depth(ax, row, style.VERMILLION, "without MLPs")
        ax.plot(layers, row["nulls"]["trained"]["mean"], color=style.BLACK, label="as trained")
        ax.set_title(name)
    axes[0].set_ylabel("mean cosine, centred")
    axes[0].legend()


CLAIM = Claim(
    name="mlp-holds-off",
    title="The MLPs hold off the collapse: without them tokens are closer at the end",
    paper=TRAINED,
    status="observed",
    prediction="larger mean cosine at the end without MLPs",
    measure=on_models(measure),
    draw=unless_missing(draw),
)
