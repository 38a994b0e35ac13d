"""The number of clusters over fifty decades: one curve in ln t / β, that of cars that grow.

A leader at the distance φ of an earlier cluster reaches it when ln t ≈ β(1 − cos φ). So at time t
the leaders are what Rényi parking leaves if the length of all cars grows up to δ(t), with
β(1 − cos δ) = ln t (`theory.growing_cars`). That is derived to leading order in β; that the number
of clusters tends to the number of such cars is what is tested, and that it is neither that of
Rényi nor that of strong centres of distance δ. As cars of length δ cover a share of the sphere
that does not depend on δ, their number goes like δ^{−(d−1)} ~ (β/ln t)^{(d−1)/2}.
"""

from __future__ import annotations

import numpy as np

from parkade import theory
from parkade.analysis.centers import KINDS
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import ensembles
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.output import Table
from parkade.experiments.statistics import LEVEL, Mean, allowed_sigmas, mean, worst
from parkade.model import sphere

SCALED: Array = np.linspace(0.3, 1.9, 17)
"""v = ln t / β; at v = 2 the last tokens, opposite to each other, meet."""

LENGTHS: Array = np.geomspace(0.25, 0.5, 5)
"""Lengths of cars for the exponent: the cars are far apart, and much smaller than π."""


def measure(setup: Setup) -> Evidence:
    """Compare means of simulated lives with forecasts of others, and with cars and centres."""
    arrivals = ensembles.simulated(setup.part(0, 2))
    count = setup.choose(30, 150)
    seen, expected, gaps = {}, {}, []
    for i, beta in enumerate(ensembles.BETAS):
        seen[beta] = _means(ensembles.counts(arrivals[beta], beta, SCALED))
        other = ensembles.forecast(beta, ensembles.starts(setup, count, i))
        expected[beta] = _means(ensembles.counts(other, beta, SCALED))
        gaps += [_sigmas(a, b) for a, b in zip(seen[beta], expected[beta], strict=True)]
        setup.report(0.5 + 0.3 * (i + 1) / len(ensembles.BETAS))
    starts = ensembles.starts(setup, setup.choose(60, 400), 9)
    delta = np.arccos(1 - SCALED)
    lengths = np.array([theory.growing_cars(x) for x in starts])
    curves = {"cars": _means((lengths[:, :, None] > delta).sum(axis=1))}
    for kind, find in KINDS.items():
        curves[kind] = _means(np.array([[len(find(x, r)) for r in delta] for x in starts]))
    distance = {
        name: {beta: _distance(seen[beta], curve) for beta in seen}
        for name, curve in curves.items()
    }
    exponents = {d: _exponent(d, setup) for d in (2, 3)}
    allowed = allowed_sigmas(len(gaps))
    sharp = ensembles.BETAS[-1]
    verdicts: list[Judgement] = [
        "agrees" if max(gaps) <= allowed else "contradicts",
        _closest({name: distance[name][sharp] for name in curves}),
        *(_near(exponent, 1.0 - d) for d, exponent in exponents.items()),
    ]
    return Evidence(
        verdict=worst(verdicts),
        measured=(
            f"{max(gaps):.1f} σ from forecasts; {100 * distance['cars'][sharp]:.0f}% from cars, "
            f"{100 * min(distance[kind][sharp] for kind in KINDS):.0f}% from centres"
        ),
        false_alarm=LEVEL,
        numbers={
            "v": SCALED.tolist(),
            "runs": {f"{b:g}": len(a) for b, a in arrivals.items()},
            "clusters": {f"{b:g}": [list(m) for m in means] for b, means in seen.items()},
            "forecast": {f"{b:g}": [list(m) for m in means] for b, means in expected.items()},
            **{name: [list(m) for m in curve] for name, curve in curves.items()},
            "distance": {
                name: {f"{b:g}": v for b, v in row.items()} for name, row in distance.items()
            },
            "exponents": {f"{d}": list(m) for d, m in exponents.items()},
        },
        tables=[Table(_rows(seen, curves), "coarsening.csv")],
    )


def _means(counts: Array) -> list[Mean]:
    return [mean(column) for column in counts.T]


def _sigmas(a: Mean, b: Mean) -> float:
    """The difference of two means in standard errors; 0 if both are certain and equal."""
    error = np.hypot(a.error, b.error)
    return float(abs(a.value - b.value) / error) if error > 0 else 0.0 if a == b else np.inf


def _distance(seen: list[Mean], curve: list[Mean]) -> float:
    """The mean relative difference of two curves."""
    return float(np.mean([abs(a.value / b.value - 1) for a, b in zip(seen, curve, strict=True)]))


def _closest(distances: dict[str, float]) -> Judgement:
    """Whether the number of clusters is closer to that of cars than to those of centres."""
    cars = distances.pop("cars")
    return "agrees" if cars < min(distances.values()) else "contradicts"


def _exponent(d: int, setup: Setup) -> Mean:
    """The exponent of the number of cars as a function of their length, with standard error."""
    n, draws = (400, setup.choose(20, 100)) if d == 2 else (2500, setup.choose(4, 20))
    rng = setup.generator(17, d)
    slopes = []
    for _ in range(draws):
        lengths = theory.growing_cars(sphere.uniform(n, d, rng))
        number = [(lengths > r).sum() for r in LENGTHS]
        slopes.append(np.polyfit(np.log(LENGTHS), np.log(number), 1)[0])
    return mean(slopes)


def _near(exponent: Mean, expected: float) -> Judgement:
    """Whether an exponent is what it should be; 0.1 is allowed for cars that are not small."""
    return "agrees" if abs(exponent.value - expected) <= 0.1 + 5 * exponent.error else "contradicts"


def _rows(seen: dict[float, list[Mean]], curves: dict[str, list[Mean]]) -> list[list[str]]:
    rows = [["v", *(f"β = {beta:g}" for beta in seen), *curves]]
    for i, v in enumerate(SCALED):
        means = [*(column[i] for column in seen.values()), *(c[i] for c in curves.values())]
        rows.append([f"{v:.2f}", *(m.text(".2f", ".2f") for m in means)])
    return rows


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the number of clusters against ln t / β, with forecasts, cars and centres."""
    from parkade.plots import style

    numbers = evidence.numbers
    ax = figure.subplots()
    for name, label, dash in (("renyi", "Rényi centres", ":"), ("strong", "strong centres", "-.")):
        level = [m[0] for m in numbers[name]]
        ax.plot(SCALED, level, color=style.GREY, linestyle=dash, linewidth=1, label=label)
    cars = [m[0] for m in numbers["cars"]]
    ax.plot(SCALED, cars, color=style.BLACK, linewidth=1.5, label="growing cars (β → ∞)")
    colors = (style.GREEN, style.BLUE, style.VERMILLION)
    for i, (beta, color) in enumerate(zip(numbers["clusters"], colors, strict=True)):
        level, error = np.transpose(numbers["clusters"][beta])
        ax.errorbar(
            SCALED + 0.008 * (i - 1), level, 2 * error, color=color, fmt="o", markersize=3.5,
            capsize=2,
            label=f"β = {beta}, {numbers['runs'][beta]} runs",
        )  # fmt: skip
        guess = [m[0] for m in numbers["forecast"][beta]]
        ax.plot(SCALED, guess, color=color, linewidth=1, linestyle="dashed")
    ax.plot([], [], color=style.GREY, linewidth=1, linestyle="dashed", label="forecasts")
    ax.set(xlabel="ln t / β", ylabel="clusters, mean", yscale="log", xlim=(0.25, 1.95))
    ticks = [1, 1.5, 2, 3, 4, 5, 6]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.legend(ncols=2)


CLAIM = Claim(
    name="coarsening",
    title="The number of clusters falls as that of growing cars, (β/ln t)^((d−1)/2)",
    paper=OURS,
    status="conjecture",
    prediction="as forecast; closer to growing cars than to centres",
    measure=measure,
    draw=draw,
    height=3.4,
)
