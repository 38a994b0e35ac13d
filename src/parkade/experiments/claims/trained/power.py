"""Whether a layer tilts tokens towards the principal eigenvector of its W_O W_V.

Li and Altafini (arXiv:2605.25619) see an analogy between layers without MLPs and steps of the power
method. The share of a token in the principal eigenspace (largest |λ|; a plane if it is complex) is
measured before and after the attention of each layer, and beside it the same for random directions
with the covariance of the tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import (
    ALARM,
    ALL,
    interval,
    on_models,
    unless_missing,
)
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst
from parkade.trained.meaning.axes import line_or_plane
from parkade.trained.meaning.kurtosis import covariant

if TYPE_CHECKING:
    from parkade.trained.model import Trained

CONTROLS = 20
"""Random lines, or planes, for each layer."""

TOKENS = 128
"""Of a text, at most."""


def principal(V: Array) -> Array:
    """An orthonormal basis (p, d) of the eigenspace with the largest |λ|."""
    values, vectors = np.linalg.eig(V)
    top = int(np.argmax(np.abs(values)))
    return line_or_plane(vectors[:, top].astype(complex), complex(values[top]))


def share(x: Array, basis: Array) -> float:
    """The mean share of unit tokens in the span of an orthonormal basis."""
    return float(np.mean(np.sum((x @ basis.T) ** 2, axis=-1)))


def judge(gains: Array, controls: Array, models: int) -> Judgement:
    """The verdict from the growth of the share, (texts,), and of that of random directions."""
    bounds = [interval(one, ALARM / (2 * models)) for one in (gains, gains - controls)]
    if all(low > 0 for low, _ in bounds):
        return "agrees"
    return "contradicts" if any(high < 0 for _, high in bounds) else "undecided"


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Compare shares before and after the attention of each layer."""
    from parkade.trained.texts import kind_for, texts

    rows: dict[str, Any] = {}
    verdicts: list[Judgement] = []
    for i, model in enumerate(models):
        kind = kind_for(model.shape.vocabulary)
        read = texts("mixed" if kind == "prose" else kind)[: setup.choose(6, 16)]
        part = setup.part(i, len(models))
        gains, controls = growth(model, list(read), part)
        verdicts.append(judge(gains.mean(axis=1), controls.mean(axis=1), len(models)))
        rows[model.name] = {
            "texts": len(read), "growth": gains.mean(axis=0).tolist(),
            "random": controls.mean(axis=0).tolist(),
            "interval": interval(gains.mean(axis=1), ALARM / (2 * len(models))),
            "difference": interval((gains - controls).mean(axis=1), ALARM / (2 * len(models))),
        }  # fmt: skip
    return Evidence(
        verdict=worst(verdicts),
        measured=", ".join(
            f"{np.mean(r['growth']):+.4f} ({np.mean(r['random']):+.4f})" for r in rows.values()
        ),
        false_alarm=ALARM,
        numbers={"models": rows},
    )


def growth(model: Trained, read: list[str], setup: Setup) -> tuple[Array, Array]:
    """The growth of the share over attention, (texts, layers): of the principal one, and random."""
    readings = [model.read(model.encode(text)[:TOKENS]) for text in read]
    result = np.zeros((2, len(read), model.layers))
    bases: dict[int, Array] = {}
    for layer in range(model.layers):
        which = model.shape.weights_of(layer)
        if which not in bases:
            bases[which] = principal(model.sum_of_values(layer))
        before, after = (
            [model.directions(x[layer, 1:]) for x in states]
            for states in ([r.hidden for r in readings], [r.middle for r in readings])
        )
        draw_from = covariant(np.concatenate(before))
        rng = setup.generator(4, layer)
        k = len(bases[which])
        random = [np.linalg.qr(draw_from(rng, k).T).Q.T for _ in range(CONTROLS)]
        for i, (x, y) in enumerate(zip(before, after, strict=True)):
            result[0, i, layer] = share(y, bases[which]) - share(x, bases[which])
            result[1, i, layer] = np.mean([share(y, one) - share(x, one) for one in random])
        setup.report((layer + 1) / model.layers)
    return result[0], result[1]


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the growth of the share in each layer beside that of random directions."""
    from parkade.plots import style

    rows = evidence.numbers["models"]
    axes = figure.subplots(1, len(rows), squeeze=False)[0]
    for ax, (name, row) in zip(axes, rows.items(), strict=True):
        ax.plot(row["growth"], color=style.BLUE, label="principal eigenvector")
        ax.plot(row["random"], color=style.GREY, linestyle="--", label="random directions")
        ax.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
        ax.set(title=name, xlabel="layer")
    axes[0].set_ylabel("growth of the share, cos²")
    axes[0].legend(loc="lower right")


CLAIM = Claim(
    name="power-method",
    title="Attention tilts tokens towards the principal eigenvector of W_O W_V (arXiv:2605.25619)",
    paper=TRAINED,
    status="observed",
    prediction="cos² grows in attention, more than along random ones",
    measure=on_models(measure, all_=ALL),
    draw=unless_missing(draw),
)
