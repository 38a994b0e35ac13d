"""Whether early tokens lead in forward passes of trained models.

Where early tokens lead, tokens move to earlier ones rather than to later ones. The flow of the
paper shows this within a unit of time (`control`), and without a mask it does not. The numbers of
centres forward and reversed are recorded as well, but show nothing even there: in the middle of a
run a cloud with leaders has about as many in both orders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import (
    ALARM,
    draw_over_depth,
    interval,
    on_models,
    states_of,
    texts_for,
    unless_missing,
)
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

if TYPE_CHECKING:
    from parkade.trained.model import Trained

RUNS, N, D, BETA = 6, 120, 16, 8.0
"""The control: runs of the paper's flow, to t = 1."""

SHARE = 0.25
"""If tokens move to earlier ones by less than this share of the control, these do not lead."""


def control(mask: str = "causal") -> float:
    """The pull of earlier tokens minus that of later ones, in the paper's flow."""
    from parkade.trained.measures import earlier_pull

    model = Attention(D, BETA, mask=mask)
    runs = [simulate(model, sphere.uniform(N, D, i), 1.0, times=[0, 1]).tokens for i in range(RUNS)]
    pull = earlier_pull(runs)
    return float((pull.mean - pull.null_mean("later")).mean())


def judge(low: float, high: float, little: float) -> Judgement:
    """Whether tokens move to earlier ones, by an interval for how much more."""
    if high < little:
        return "contradicts"
    return "agrees" if low > 0 else "undecided"


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Compare the pull of earlier tokens with that of later ones; count centres as well."""
    from parkade.trained.measures import center_counts, earlier_pull

    little = SHARE * (reference := control())
    causal = [model for model in models if model.causal]
    rows: dict[str, Any] = {}
    for model in setup.each(models):
        states = states_of(model, texts_for(model))
        pull, centers = earlier_pull(states), center_counts(states)
        led = (pull.values - pull.nulls["later"]).mean(axis=1)
        rows[model.name] = {
            "causal": model.causal,
            "texts": pull.texts,
            "led": float(led.mean()),
            "interval": list(interval(led, ALARM / max(1, len(causal)))),
            "pull": pull.to_dict(),
            "centers": centers.to_dict(),
        }
    bounds = [rows[model.name]["interval"] for model in causal]
    verdicts = [judge(low, high, little) for low, high in bounds]
    shown = causal or models
    words = ", ".join(f"{rows[m.name]['led']:.3f}" for m in shown)
    return Evidence(
        verdict=worst(verdicts) if verdicts else "undecided",
        measured=f"{words}{'' if causal else ' (no mask)'}; {reference:.3f} in the paper's flow",
        false_alarm=ALARM,
        numbers={"models": rows, "control": reference, "little": little},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the pull of earlier and of later tokens over depth."""
    from parkade.plots import style

    rows = evidence.numbers["models"]
    axes = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for ax, (name, row) in zip(axes, rows.items(), strict=True):
        curves = row["pull"]
        layers = draw_over_depth(ax, curves, style.BLUE, "to earlier")
        later = curves["nulls"]["later"]["mean"]
        ax.plot(layers, later, color=style.VERMILLION, label="to later")
        ax.axhline(evidence.numbers["control"], color=style.GREY, linestyle=":", linewidth=0.8)
        ax.set_title(f"{name}{'' if row['causal'] else ' (no mask)'}")
    axes[0].set_ylabel("mean pull")
    axes[0].legend()


CLAIM = Claim(
    name="leaders",
    title="Early tokens lead in forward passes: tokens move to earlier ones",
    paper=TRAINED,
    status="conjecture",
    prediction="tokens move to earlier ones, not to later ones",
    measure=on_models(measure),
    draw=unless_missing(draw),
)
