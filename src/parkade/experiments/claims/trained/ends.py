"""Single trained heads as flows, and whether they end as Table 1 says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.analysis.ending import AT, distance
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import on_models, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.model import sphere
from parkade.model.parts.head import Head
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate
from parkade.theory import final_configuration

if TYPE_CHECKING:
    from parkade.trained.model import Trained

N = 6
"""Number of tokens of a run."""

LONG = 30.0
"""Units of 1/gap that a run lasts: the slowest direction decays by e^{−30}."""

NARROW = 0.01
"""Heads whose gap is below this share of |λ| would take too long."""


def reduced(head: Head, start: Array) -> tuple[Head, Array]:
    """The same flow in fewer dimensions: tokens stay in the span of the start and of V."""
    left, sizes, _ = np.linalg.svd(head.V)
    inside = left[:, sizes > 1e-6 * sizes[0]]
    basis = np.linalg.qr(np.concatenate([inside, start.T], axis=1))[0]
    small = Head(head.Q @ basis, head.K @ basis, basis.T @ head.V @ basis, head.beta)
    return small, sphere.normalize(start @ basis)


def follow(flow: Transformer, number: int, seed: int) -> dict[str, Any]:
    """Simulate one head of a layer and compare its end with the table."""
    head = flow.heads[number]
    start = sphere.uniform(N, flow.d, seed)
    small, x = reduced(head, start)
    final = final_configuration(small.V)
    lead = complex(final.eigenvalue)
    about = {"kind": final.kind, "lambda": [lead.real, lead.imag], "gap": final.gap}
    if final.kind not in ("one point", "two points", "rotation") or lead.real <= 0:
        return {**about, "outcome": "outside"}
    if final.gap < NARROW * abs(lead):
        return {**about, "outcome": "too slow"}
    model = Transformer([small], mask=flow.mask, position=flow.position)
    end = simulate(model, x, LONG / final.gap, times="final", tol=1e-6).final
    if final.kind == "rotation":
        off = float(final.angles(end).max())
    else:
        off = distance(end, final.limit(x[0]))
    speed = float(np.abs(model.velocity(end)).max()) / abs(lead)
    rests = speed < 1e-6
    outcome = "as predicted" if off < AT else "elsewhere" if rests else "unfinished"
    return {**about, "outcome": outcome, "off": off, "speed": speed}


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Follow some heads of each model."""
    rows = []
    for i, model in enumerate(models):
        layers = setup.choose((0,), (0,) if model.shape.distinct == 1 else (0, model.layers - 1))
        for layer in layers:
            flow = model.tied(layer)
            heads = range(setup.choose(3, min(6, len(flow.heads))))
            for h in heads:
                result = follow(flow, h, setup.seed + h)
                rows.append({"model": model.name, "layer": layer, "head": h, **result})
                setup.report((i + (h + 1) / len(heads)) / len(models))
    seen = [row["outcome"] for row in rows]
    right, wrong = seen.count("as predicted"), seen.count("elsewhere")
    verdict: Judgement = "contradicts" if wrong else "agrees" if right else "undecided"
    open_ = len(seen) - right - wrong
    return Evidence(
        verdict=verdict,
        measured=f"{right} of {right + wrong} heads; {open_} outside or too slow",
        false_alarm=0.0,  # the end does not depend on chance
        numbers={"heads": rows},
        data={"rows": rows},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw how far from the prediction tokens end, against the gap."""
    from parkade.plots import style

    ax = figure.subplots()
    colors = {"as predicted": style.BLUE, "elsewhere": style.VERMILLION, "unfinished": style.GREY}
    for outcome, color in colors.items():
        rows = [row for row in evidence.data["rows"] if row["outcome"] == outcome]
        if rows:
            ax.scatter([row["gap"] for row in rows], [max(row["off"], 1e-16) for row in rows],
                       s=12, color=color, label=outcome)  # fmt: skip
    ax.axhline(AT, color=style.PALE, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="gap of Re λ", ylabel="distance from the prediction")
    ax.legend()


CLAIM = Claim(
    name="ends-of-trained-heads",
    title="Trained heads as flows end as Table 1 says for their V",
    paper=TRAINED,
    status="observed",
    prediction="Re λ > 0: at ±ξ (real) or in L (complex)",
    measure=on_models(measure),
    draw=unless_missing(draw),
)
