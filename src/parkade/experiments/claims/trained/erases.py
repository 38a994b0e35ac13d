"""Whether the flow of a single head erases what its axis says of a text: the first token decides.

Head 4 of layer 5 of stories15M has she and he at its ends. As a flow with its own V, Q and K it
sends every token to one of them. By the theory of causal attention all follow the first token,
which goes to the end that ⟨η, x⟩ has the sign of, whatever the others said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.ends import LONG, reduced
from parkade.experiments.claims.trained.flips import HEAD, LAYER
from parkade.experiments.claims.trained.models import on_models, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate
from parkade.trained.meaning.axes import axes_of, matrices

if TYPE_CHECKING:
    from parkade.base.types import Array
    from parkade.trained.model import Trained

N = 8
"""Number of tokens of a run."""

CLOSE = 0.999
"""Cosine with an end of the axis from which on a token is there."""


def follow(flow: Transformer, head: int, start: Array, xi: Array, eta: Array) -> dict[str, Any]:
    """Simulate one head from unit tokens and compare the ends of all with that of the first."""
    small, x = reduced(flow.heads[head], start)
    rates = np.sort(np.linalg.eigvals(small.V).real)[::-1]
    model = Transformer([small], mask=flow.mask, position=flow.position)
    end = simulate(model, x, LONG / (rates[0] - rates[1]), times="final", tol=1e-6).final
    # Inner products with ξ are those with the reduced one: the basis of `reduced` has both.
    values, vectors = np.linalg.eig(small.V)
    axis = vectors[:, int(np.argmax(values.real))].real
    axis = axis / np.linalg.norm(axis) * np.sign((x @ axis) @ (start @ xi))
    sides = end @ axis
    predicted = float(np.sign(eta @ start[0]))
    there = np.abs(sides) > CLOSE
    before = np.sign(start @ xi)
    return {
        "at an end": int(there.sum()),
        "with the first": int(np.sum(there & (np.sign(sides) == predicted))),
        "erased": int(np.sum(before != predicted)),
        "tokens": len(start),
    }


def judge(rows: list[dict[str, Any]]) -> Judgement:
    """The verdict from runs: all tokens that have arrived are with the first."""
    if any(row["at an end"] > row["with the first"] for row in rows):
        return "contradicts"
    done = all(row["at an end"] == row["tokens"] for row in rows)
    return "agrees" if done and any(row["erased"] for row in rows) else "undecided"


def starts(model: Trained, layer: int, count: int) -> list[Array]:
    """Unit tokens before a layer: runs of tokens of texts, without the first token of a text."""
    from parkade.trained.texts import texts

    listed = []
    for text in texts("mixed"):
        hidden = model.read(model.encode(text)[:128]).hidden[layer]
        places = range(1, len(hidden) - N, max(1, (len(hidden) - N) // 4))
        listed += [model.directions(hidden[i : i + N]) for i in places]
    return listed[:: max(1, len(listed) // count)][:count]


def measure(models: list[Trained], setup: Setup, layer: int = LAYER, head: int = HEAD) -> Evidence:
    """Follow the head from pieces of texts."""
    (model,) = models
    flow = model.tied(layer)
    axes = axes_of(*matrices(model, layer, head))
    (xi,), (eta,) = axes.writes, axes.reads
    listed = starts(model, layer, setup.choose(6, 40))
    rows = [follow(flow, head, start, xi, eta) for start in setup.each(listed)]
    together = sum(row["with the first"] == row["tokens"] for row in rows)
    lost, total = (sum(row[name] for row in rows) for name in ("erased", "tokens"))
    return Evidence(
        verdict=judge(rows),
        measured=f"all with the first in {together} of {len(rows)}; {lost} of {total} had to turn",
        false_alarm=0.0,  # the end of a flow does not depend on chance
        numbers={"runs": rows, "texts": 12},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw for each run how many tokens were on the other side, and how many are at the end."""
    from parkade.plots import style

    ax = figure.subplots()
    rows = evidence.numbers["runs"]
    places = np.arange(len(rows))
    ax.bar(places, [row["tokens"] - row["erased"] for row in rows], color=style.BLUE,
           label="on the side of the first token, at the start")  # fmt: skip
    ax.scatter(places, [row["with the first"] for row in rows], s=10, color=style.VERMILLION,
               zorder=3, label="at the end")  # fmt: skip
    ax.set(xlabel="piece of a text", ylabel="tokens", ylim=(0, 1.25 * N))
    ax.legend(loc="upper left", ncols=2)


CLAIM = Claim(
    name="flow-erases",
    title="The flow of the she/he head sends all tokens of a text to the end of the first one",
    paper=TRAINED,
    status="derived",
    prediction="all tokens at the end of the first, for each text",
    measure=on_models(measure, small=("stories15M",), all_=("stories15M",)),
    draw=unless_missing(draw),
)
