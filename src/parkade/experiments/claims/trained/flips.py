"""Whether an axis that a head writes is what a model decides by: she and he.

ξ of head 4 of layer 5 has "she, her" at one end and "he, his" at the other. Tokens before the layer
are flipped along ξ, and along other directions; which pronoun is expected next then says what these
directions do. Names and sentences were written for this test. So was the same test for head 2 of
layer 25 in SmolLM2-135M, which has "their, she, her" and "his, he, him" at its ends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.held_out import FEMALE, MALE, SENTENCES
from parkade.experiments.claims.trained.models import ALARM, interval, on_models, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.trained import forward
from parkade.trained.block import Floats
from parkade.trained.meaning import edits
from parkade.trained.meaning.axes import axes_of, matrices
from parkade.trained.meaning.kurtosis import covariant

if TYPE_CHECKING:
    from parkade.trained.model import Trained

LAYER, HEAD = 5, 4

DRAWS = 5
"""Random directions of each kind."""

LEFT = 0.5
"""Controls must leave at least this share of the gap."""


def judge(
    flipped: tuple[float, float], controls: list[tuple[float, float]], whole: float
) -> Judgement:
    """The verdict from intervals for the gap: it turns its sign, and only along this axis."""
    if flipped[0] > 0 or any(high < LEFT * whole for _, high in controls):
        return "contradicts"
    turned = flipped[1] < 0 and all(low > LEFT * whole for low, _ in controls)
    return "agrees" if turned else "undecided"


def pronouns(model: Trained) -> tuple[int, int]:
    """The ids of "she" and "he"."""
    ids = [model.encode(f"and {word}")[-1] for word in ("she", "he")]
    return ids[0], ids[1]


def gaps(model: Trained, layer: int, states: list[list[Array]], signs: Array) -> Array:
    """The mean over sentences of the logit of the right pronoun minus the other, for each name.

    `states` are the tokens before a layer, for each name and sentence.
    """
    she, he = pronouns(model)
    rows = []
    for name, sign in zip(states, signs, strict=True):
        last = []
        for start in name:
            x: Floats = start
            for i in range(layer, model.layers):
                x = forward.layer(model.block(i), model.shape, x)[1]
            last.append(x[-1])
        logits = forward.logits(model.ends, np.array(last))
        rows.append(sign * (logits[:, she] - logits[:, he]))
    return np.array(rows)


def directions(
    model: Trained, layer: int, head: int, cloud: Array, rng: np.random.Generator
) -> Any:
    """The axis, and controls: of the head's range, with the tokens' covariance, and singular."""
    V, out = matrices(model, layer, head)
    axes = axes_of(V, out)
    draw = covariant(cloud)
    return {
        "ξ": [axes.writes],
        "own range": [(out @ rng.standard_normal(out.shape[1]))[None] for _ in range(DRAWS)],
        "covariance": [draw(rng, 1) for _ in range(DRAWS)],
        "singular": [axes.singular_writes],
    }


def measure(models: list[Trained], setup: Setup, layer: int = LAYER, head: int = HEAD) -> Evidence:
    """Flip tokens along the axis and along controls, and see which pronoun is expected."""
    (model,) = models
    names = setup.choose(8, len(FEMALE))
    listed = [*((name, 1.0) for name in FEMALE[:names]), *((name, -1.0) for name in MALE[:names])]
    signs = np.array([sign for _, sign in listed])
    read = [[model.read(s.format(name=name)).hidden for s in SENTENCES] for name, _ in listed]
    states = [[x[layer] for x in row] for row in read]
    cloud = np.concatenate([x[1:] for row in states for x in row])
    tried = directions(model, layer, head, cloud, setup.generator(1))
    rows: dict[str, Any] = {"as trained": _row(gaps(model, layer, states, signs))}
    changes = [("removed", "ξ", 0.0), *(("flipped", name, -1.0) for name in tried)]
    for i, (what, name, factor) in enumerate(changes):
        each = [
            gaps(edits.along(model, layer, vector, factor), layer, states, signs)
            for vector in tried[name]
        ]
        rows[f"{name} {what}"] = _row(np.concatenate(each, axis=1))
        setup.report((i + 1) / len(changes))
    whole = rows["as trained"]["gap"]
    controls = [rows[f"{name} flipped"]["interval"] for name in tried if name != "ξ"]
    flipped = rows["ξ flipped"]["interval"]
    (xi,) = tried["ξ"][0][:1]
    if (
        xi @ (model.ends.embedding[pronouns(model)[0]] - model.ends.embedding[pronouns(model)[1]])
        < 0
    ):
        xi = -xi
    along = [[[(x[-1] @ xi) / np.linalg.norm(x[-1]) for x in text] for text in row] for row in read]
    return Evidence(
        verdict=judge(tuple(flipped), [tuple(c) for c in controls], whole),
        measured=f"gap {whole:.1f}; flipped {rows['ξ flipped']['gap']:.1f}; controls "
        + ", ".join(f"{rows[f'{name} flipped']['gap']:.1f}" for name in tried if name != "ξ"),
        false_alarm=ALARM,
        numbers={
            "layer": layer, "names": len(listed), "sentences": len(SENTENCES), "changes": rows,
            "axis": np.array(along).mean(axis=1).tolist(), "signs": signs.tolist(),
            "auc": [auc(np.array(along)[..., i].ravel(), np.repeat(signs, len(SENTENCES)))
                    for i in range(model.layers + 1)],
        },
    )  # fmt: skip


def auc(values: Array, signs: Array) -> float:
    """The probability that a value with sign +1 is larger than one with sign −1."""
    above, below = values[signs > 0][:, None], values[signs < 0][None]
    return float(np.mean(above > below) + np.mean(above == below) / 2)


def _row(gap: Array) -> dict[str, Any]:
    """The mean gap, its interval over names, and how often the right pronoun is expected more."""
    low, high = interval(gap.mean(axis=1), ALARM / 4)
    return {"gap": float(gap.mean()), "interval": [low, high], "right": float(np.mean(gap > 0))}


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the axis over the layers, and the gap for each change."""
    from parkade.plots import style

    numbers = evidence.numbers
    over, bars = figure.subplots(1, 2, width_ratios=(1, 1.2))
    values, signs = np.array(numbers["axis"]), np.array(numbers["signs"])
    for sign, color, label in (
        (1, style.VERMILLION, "names of girls"),
        (-1, style.BLUE, "of boys"),
    ):
        chosen = values[signs == sign]
        over.plot(chosen.T, color=color, linewidth=0.4, alpha=0.5)
        over.plot(chosen.mean(axis=0), color=color, linewidth=1.8, label=label)
    over.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
    over.set(xlabel="layer", ylabel="last token along ξ (+: she)", title="the axis over the layers")
    over.legend(loc="upper left")
    rows = numbers["changes"]
    places = np.arange(len(rows))[::-1]
    means = np.array([row["gap"] for row in rows.values()])
    bounds = np.array([row["interval"] for row in rows.values()])
    colors = [style.VERMILLION if "ξ" in name else style.GREY for name in rows]
    bars.barh(places, means, color=colors, height=0.65)
    bars.hlines(places, bounds[:, 0], bounds[:, 1], color=style.BLACK, linewidth=0.8)
    labels = [f"{name} ({row['right']:.0%})" for name, row in rows.items()]
    bars.set_yticks(places, labels)
    bars.axvline(0, color=style.BLACK, linewidth=0.6)
    bars.set(
        xlabel="logit of the right pronoun minus the other",
        title=f"before layer {numbers['layer']} (right: %)",
    )


CLAIM = Claim(
    name="meaning-causal",
    title="Flipping what a head writes turns she into he; flipping other directions does not",
    paper=TRAINED,
    status="observed",
    prediction="gap < 0 if ξ is flipped; > half of it for controls",
    measure=on_models(measure, small=("stories15M",), all_=("stories15M",)),
    draw=unless_missing(draw),
    height=3.0,
)

ELSEWHERE = Claim(
    name="meaning-causal-smol",
    title="The same in SmolLM2-135M, for head 2 of layer 25",
    paper=TRAINED,
    status="conjecture",
    prediction="gap < 0 if ξ is flipped; > half of it for controls",
    measure=on_models(
        partial(measure, layer=25, head=2), small=("SmolLM2-135M",), all_=("SmolLM2-135M",)
    ),
    draw=unless_missing(draw),
    height=3.0,
)
