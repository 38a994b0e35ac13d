"""Spectra of trained heads: whether some are negative, and whether most are real."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import ALARM, on_models, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst

if TYPE_CHECKING:
    from parkade.trained.model import Trained

DRAWS = 4000
"""Random heads of each shape, at least."""


def count(model: Trained, setup: Setup) -> dict[str, float]:
    """Heads by the sign and the kind of the leading eigenvalue, trained and random."""
    from parkade.trained.heads import table

    # So many that a head can be beyond chance after Holm's correction for all of them.
    different = (model.shape.distinct or model.layers) * model.head_count
    draws = max(DRAWS, 40 * different - 1)
    heads = table(model, draws, setup.seed, False)
    which = [model.shape.weights_of(i) for i in range(model.layers)]
    once = heads.isel(layer=[which.index(w) for w in sorted(set(which))])
    lead, kinds = once["spectrum"].values[..., 0], once["kind"].values
    drawn = once["random_kind"].values
    real = ("two points", "two clouds")
    return {
        "heads": int(kinds.size),
        "negative": int(np.sum(lead.real < 0)),
        "real": int(np.isin(kinds, real).sum()),
        "random": len(drawn),
        "random_negative": int(np.isin(drawn, ("two clouds", "outside")).sum()),
        "random_real": int(np.isin(drawn, real).sum()),
        "balanced_beyond_chance": float(np.mean(once["balance_holm"].values < 0.05)),
    }


def negative(models: list[Trained], setup: Setup) -> Evidence:
    """Whether heads have a leading eigenvalue with a negative real part, on the range of V."""
    from scipy.stats import fisher_exact

    counts = {}
    verdicts: list[Judgement] = []
    for model in setup.each(models):
        counts[model.name] = one = count(model, setup)
        table = [[one["negative"], one["heads"] - one["negative"]],
                 [one["random_negative"], one["random"] - one["random_negative"]]]  # fmt: skip
        one["p"] = float(fisher_exact(np.array(table), "greater").pvalue)
        chance = one["p"] <= ALARM / len(models)
        # A model without such heads contradicts the claim whatever random ones do.
        verdicts.append(
            "contradicts" if not one["negative"] else "agrees" if chance else "undecided"
        )
    has = [name for name, one in counts.items() if one["negative"]]
    total = sum(int(one["random_negative"]) for one in counts.values())
    return Evidence(
        verdict=worst(verdicts),
        measured=f"models with one: {len(has)} of {len(models)}; random heads: {total} of "
        f"{sum(int(one['random']) for one in counts.values())}",
        false_alarm=0.0,  # whether a model has such a head does not depend on chance
        numbers={"models": counts},
        data={"what": "negative"},
    )


def real(models: list[Trained], setup: Setup) -> Evidence:
    """Whether the leading eigenvalue is real more often than in random heads."""
    from scipy.stats import fisher_exact

    counts = {}
    for model in setup.each(models):
        counts[model.name] = one = count(model, setup)
        one["share"], one["random_share"] = (
            one["real"] / one["heads"], one["random_real"] / one["random"]
        )  # fmt: skip
    sums = {key: sum(one[key] for one in counts.values()) for key in ("real", "heads")}
    # Models have shares of their own: expect each head to be real like a random one of its shape.
    expected = sum(one["random_share"] * one["heads"] for one in counts.values()) / sums["heads"]
    random = sum(one["random"] for one in counts.values())
    table = [[sums["real"], sums["heads"] - sums["real"]],
             [round(expected * random), round((1 - expected) * random)]]  # fmt: skip
    p = float(fisher_exact(np.array(table)).pvalue)
    share = sums["real"] / sums["heads"]
    more = share > expected
    verdict: Judgement = "undecided" if p > ALARM else "agrees" if more else "contradicts"
    return Evidence(
        verdict=verdict,
        measured=f"{share:.2f} of {sums['heads']:.0f} heads, random {expected:.2f}, p = {p:.1g}",
        false_alarm=ALARM,
        numbers={"models": counts, "p": p, "share": share, "expected": expected},
        data={"what": "real"},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the shares of heads beside those of random ones."""
    from parkade.plots import style

    ax = figure.subplots()
    what = evidence.data["what"]
    counts = evidence.numbers["models"]
    places = np.arange(len(counts))
    trained = [one[what] / one["heads"] for one in counts.values()]
    random = [one[f"random_{what}"] / one["random"] for one in counts.values()]
    ax.bar(places - 0.2, trained, 0.4, color=style.BLUE, label="trained")
    ax.bar(places + 0.2, random, 0.4, color=style.GREY, label="random")
    ax.set_xticks(places, list(counts))
    ax.set_ylabel(f"share of heads with {'Re λ < 0' if what == 'negative' else 'real λ'}")
    ax.legend()


NEGATIVE = Claim(
    name="spectra-negative",
    title="Trained models have heads whose V has no eigenvalue with Re λ > 0; random ones never",
    paper=TRAINED,
    status="observed",
    prediction="some heads have Re λ_max < 0, no random one has",
    measure=on_models(negative),
    draw=unless_missing(draw),
)

REAL = Claim(
    name="spectra-real",
    title="The leading eigenvalue of V is real more often in trained heads than in random ones",
    paper=TRAINED,
    status="observed",
    prediction="more heads with real λ_max than at random",
    measure=on_models(real),
    draw=unless_missing(draw),
)
