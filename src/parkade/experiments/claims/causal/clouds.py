"""Table 1 for λ < 0: a cloud around L, or two around ±ξ if L is a line.

The paper shows clouds and does not define them. This definition was fixed before the experiment:

- no collapse: in every run at least 3/4 of the tokens are farther than 1e-3 from the others;
- nearness: the mean angle between tokens and L is less than that of uniform tokens;
- two clouds: every run has tokens on both sides of L^⊥ (random sides would fail in forty looks
  with a probability of 2e-8), and fewer tokens with |⟨x, ξ⟩| < ¼ than uniform tokens on S²,
  of which a quarter are there.

All of it at the paper's t = 5000 and again at t = 1e9. "Less" and "fewer" are tested over
independent runs with Student's t distribution at a fifth of the level: there are up to four tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from parkade import theory
from parkade.analysis.ending import DISTINCT, SIDE, UNIFORM, distinct_share, smaller_side
from parkade.base.errors import doubts_do_not_matter
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.experiments.statistics import LEVEL, less, mean, worst
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate_many

BETA, TOKENS = 9.0, 32
TIMES = (5000.0, 1e9)
BAND = 1 / 4


def measure(V: Sequence[float], setup: Setup) -> Evidence:
    """Test whether the tokens form a cloud, or two, for this V."""
    runs = setup.choose(6, 20)
    final = theory.final_configuration(V)
    basis, line = final.basis, final.dim == 1
    rng = setup.generator(int(line))
    starts = [sphere.uniform(TOKENS, 3, rng) for _ in range(runs)]
    with doubts_do_not_matter():
        paths = simulate_many(Attention(V=V, beta=BETA), starts, TIMES[-1], times=TIMES)
    setup.report(1.0)
    judged: list[Judgement] = []
    numbers: dict[str, object] = {"runs": runs, "V": list(V), "uniform angle": UNIFORM[2 - line]}
    for i, t in enumerate(TIMES):
        tokens = np.stack([path.tokens[i] for path in paths])
        near = final.angles(tokens).mean(axis=1)
        own = min(distinct_share(x) for x in tokens)
        judged += [less(near.tolist(), UNIFORM[2 - line])]
        judged += ["agrees" if own >= DISTINCT else "contradicts"]
        seen = {"angle": mean(near).value, "error": mean(near).error, "distinct, least": own}
        if line:
            band = (np.abs(tokens @ basis[:, 0]) < BAND).mean(axis=1)
            side = min(smaller_side(x, basis) for x in tokens)
            judged += [less(band.tolist(), BAND), "agrees" if side >= SIDE else "contradicts"]
            seen |= {"smaller side, least": side, "in the band": float(band.mean())}
        numbers[f"t = {t:g}"] = seen
    last = math.degrees(seen["angle"])
    kind = f"{seen['in the band']:.0%} between" if line else f"at least {own:.0%} apart"
    return Evidence(
        verdict=worst(judged),
        measured=f"{last:.1f}° from L on average, {kind}",
        false_alarm=LEVEL,
        numbers=numbers,
        data={"tokens": np.stack([path.tokens for path in paths])},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the distribution of the angle between tokens and L, or ξ."""
    from parkade.plots import style

    tokens = evidence.data["tokens"]
    final = theory.final_configuration(evidence.numbers["V"])
    basis = final.basis
    line = basis.shape[1] == 1
    ax = figure.subplots()
    end, law = (180, np.sin) if line else (90, np.cos)
    for i, (t, color) in enumerate(zip(TIMES, (style.BLUE, style.VERMILLION), strict=True)):
        x = tokens[:, i].reshape(-1, 3)
        angle = np.arccos(np.clip(x @ basis[:, 0], -1, 1)) if line else final.angles(x)
        ax.hist(
            np.degrees(angle), bins=np.linspace(0, end, 37).tolist(), density=True, histtype="step",
            color=color, linewidth=1.2 - 0.4 * i, label=f"t = {style.number(t)}",
        )  # fmt: skip
    a = np.linspace(0, end, 181)
    density = law(np.radians(a)) * math.radians(1) / (2 if line else 1)
    ax.plot(a, density, color=style.GREY, linewidth=1, linestyle="dashed", label="uniform tokens")
    values = ", ".join(f"{v:g}" for v in evidence.numbers["V"]).replace("-", "−")
    ax.set_title(f"V = diag({values}), K = Q = I, β = {BETA:g}, {TOKENS} tokens")
    ax.set(xlabel=f"angle from {'ξ' if line else 'L'}, degrees", ylabel="density", xlim=(0, end))
    ax.legend()


CLOUD = Claim(
    name="cloud",
    title="λ < 0, dim L ≥ 2: tokens end in a cloud around L",
    paper=CAUSAL_CLUSTERING,
    status="observed",
    prediction=f"under {math.degrees(UNIFORM[2]):.1f}° from L on average, 75% apart",
    measure=partial(measure, (-1.0, -1.0, -2.0)),
    draw=draw,
)

TWO_CLOUDS = Claim(
    name="two-clouds",
    title="λ < 0, dim L = 1: tokens end in two clouds around ±ξ",
    paper=CAUSAL_CLUSTERING,
    status="observed",
    prediction=f"under {math.degrees(UNIFORM[1]):.1f}° from L on average, under 25% between",
    measure=partial(measure, (-1.0, -2.0, -2.0)),
    draw=draw,
)
