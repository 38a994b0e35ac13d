"""Full attention ends in one cluster: on spheres for β ≥ 0, on the circle for β ≥ −0.16.

On the circle with β < −2/3 three equal clusters at 120° are stable, as is easy to see: with
h(φ) = e^{β cos φ} sin φ a displacement of them decays at the rate 3 h′(120°)/Z, which is
3 (−1/2 − 3β/4)/(2 + e^{3β/2}).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.experiment import Figure, Setup
from parkade.experiments.statistics import least_success, worst
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

SPHERES = (*((3, beta) for beta in (0.0, 1.0, 4.0, 9.0)), (8, 1.0), (8, 6.0))
"""Dimensions and values of β for the claim on spheres."""

CIRCLE = tuple((2, beta) for beta in (-0.16, 0.0, 1.0, 4.0, 9.0))
OTHERS = tuple((2, beta) for beta in (-0.3, -0.5, -0.65, -0.8))
"""Cases of the claim on the circle, and of what it leaves open: −2/3 < β < −0.16, and random starts
where it does not hold for all."""

CRITICAL, ASIDE = -2 / 3, 0.05
"""Three clusters are unstable for a β above and stable below, tested at this distance."""

NUMBERS = {2: 24, 3: 20, 8: 8}
"""Number of tokens in each dimension."""

TOL, AT = 1e-8, 1e-6
"""Error of a step. Tokens this close to the first one are one cluster with it."""

FIRM = 1e-4
"""A rest with a faster return to it is stable, not just slow."""


class End(NamedTuple):
    """The end of a run."""

    kind: str
    """"one", "stable" if it rests elsewhere, or "unfinished"."""
    time: float
    """The time from which on all tokens are within 1e-3 of the first one."""


def attention(d: int, beta: float) -> Attention:
    """The model; β < 0 by Q = −I."""
    return Attention(d=d, beta=abs(beta), Q=-1.0 if beta < 0 else 1.0, mask="full")


def start(n: int, d: int, rng: np.random.Generator) -> Array:
    """Random tokens, uniform on the sphere."""
    return sphere.uniform(n, d, rng)


def horizon(beta: float) -> float:
    """More than the time e^{2β} for which opposite clusters may stay."""
    return 1e3 * math.exp(2.2 * max(beta, 0.0))


def follow(d: int, beta: float, tokens: Array) -> End:
    """Run for long, and see whether there is one cluster."""
    model = attention(d, beta)
    run = simulate(model, tokens, horizon(beta), tol=TOL)
    off = np.array([sphere.distance(x, x[0]).max() for x in run.tokens])
    if off[-1] > AT:
        return End("stable" if rests(model, run.final) else "unfinished", math.inf)
    away = np.flatnonzero(off > 1e-3)
    return End("one", float(run.times[away[-1] + 1]) if away.size else 0.0)


def rests(model: Attention, tokens: Array) -> bool:
    """Whether tokens are at a stable equilibrium, apart from rotations of all of them."""
    d = tokens.shape[1]
    if float(np.abs(model.velocity(tokens)).max()) > 1e-6 * FIRM:
        return False
    rates = return_rates(model, tokens)
    return bool((rates[d * (d - 1) // 2 :] > FIRM).all())


def return_rates(model: Attention, tokens: Array, step: float = 1e-5) -> Array:
    """Rates at which small displacements decay, in increasing order."""
    n, d = tokens.shape
    bases = [np.linalg.svd(x[None])[2][1:] for x in tokens]  # of the tangent spaces
    jacobian = np.empty((n * (d - 1), n * (d - 1)))
    for k in range(n):
        for i, direction in enumerate(bases[k]):
            slope = np.zeros((n, d))
            for sign in (1, -1):
                moved = tokens.copy()
                moved[k] = sphere.normalize(moved[k] + sign * step * direction)
                slope += sign * model.velocity(moved) / (2 * step)
            jacobian[:, k * (d - 1) + i] = np.concatenate(
                [basis @ v for basis, v in zip(bases, slope, strict=True)]
            )
    return np.sort(-np.linalg.eigvals(jacobian).real)


def triangle_rate(beta: float) -> float:
    """The derived rate at which three equal clusters at 120° return."""
    return 3 * (-0.5 - 0.75 * beta) / (2 + math.exp(1.5 * beta))


def triangle(rng: np.random.Generator) -> Array:
    """Tokens close to three points at 120°."""
    angles = np.repeat(2 * math.pi / 3 * np.arange(3), NUMBERS[2] // 3)
    return sphere.from_angles(angles + 0.02 * rng.standard_normal(len(angles)))


def runs_of(
    cases: Sequence[tuple[int, float]], runs: int, setup: Setup
) -> dict[tuple[int, float], list[End]]:
    """The ends of runs from random starts."""
    ends: dict[tuple[int, float], list[End]] = {}
    for i, (d, beta) in enumerate(cases):
        rng, part = setup.generator(d, i), setup.part(i, len(cases))
        ends[d, beta] = [follow(d, beta, start(NUMBERS[d], d, rng)) for _ in part.each(range(runs))]
    return ends


def judge(ends: Sequence[End]) -> Judgement:
    """The verdict on runs that should all end in one cluster."""
    kinds = {end.kind for end in ends}
    return (
        "contradicts" if "stable" in kinds else "undecided" if "unfinished" in kinds else "agrees"
    )


def measure_spheres(setup: Setup) -> Evidence:
    """Follow random tokens on spheres."""
    cases = setup.choose(SPHERES[:4], SPHERES)
    by_case = runs_of(cases, setup.choose(4, 20), setup)
    ends = [end for group in by_case.values() for end in group]
    return Evidence(
        verdict=judge(ends),
        measured=summary(ends),
        false_alarm=0.0,  # the exceptional starts have probability 0
        numbers=numbers_of(by_case),
        data={"by_case": by_case},
    )


def measure_circle(setup: Setup) -> Evidence:
    """Follow random tokens on the circle, and three clusters on both sides of β = −2/3."""
    by_case = runs_of(CIRCLE, setup.choose(4, 20), setup.part(0, 2))
    beyond = runs_of(OTHERS, setup.choose(4, 20), setup.part(1, 2))
    ends = [end for group in by_case.values() for end in group]
    error, points = 0.0, []
    three = sphere.from_angles(2 * math.pi / 3 * np.arange(3))
    for beta in np.linspace(-1.2, 0.4, 17):
        # The rotation has the rate 0, the other two displacements share one.
        rates = return_rates(attention(2, beta), three)
        rate = rates[np.argmax(np.abs(rates))]
        points.append((float(beta), float(rate)))
        error = max(error, abs(rate - triangle_rate(beta)))
    sides = {
        beta: follow(2, beta, triangle(setup.generator(7, i))).kind
        for i, beta in enumerate((CRITICAL - ASIDE, CRITICAL + ASIDE))
    }
    clear = list(sides.values()) == ["stable", "one"] and error < 1e-8
    return Evidence(
        verdict=worst([judge(ends), "agrees" if clear else "contradicts"]),
        measured=f"{summary(ends)}; three stay below −2/3",
        false_alarm=0.0,
        numbers={
            **numbers_of(by_case),
            "others": numbers_of(beyond),
            "three_clusters": {f"{beta:.4f}": kind for beta, kind in sides.items()},
            "error_of_return_rates": error,
        },
        data={"by_case": {**by_case, **beyond}, "rates": points},
    )


def summary(ends: Sequence[End]) -> str:
    """Number of runs that end in one cluster, and the time of the slowest."""
    slowest = max((end.time for end in ends if end.kind == "one"), default=0.0)
    return f"{sum(e.kind == 'one' for e in ends)}/{len(ends)} runs, by t ≈ {slowest:.0e}"


def numbers_of(by_case: dict[tuple[int, float], list[End]]) -> dict[str, object]:
    """Numbers of runs and times for JSON."""
    ends = [end for group in by_case.values() for end in group]
    one = sum(end.kind == "one" for end in ends)
    return {
        "runs": len(ends),
        "one_cluster": one,
        "least_success": least_success(one) if 0 < one == len(ends) else 0.0,
        "times": {
            f"d={d}, beta={beta:g}": sorted(e.time for e in group if e.kind == "one")
            for (d, beta), group in by_case.items()
        },
    }


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the times until there is one cluster, and the stability of three clusters."""
    from parkade.plots import style

    rates = evidence.data.get("rates")
    axes = figure.subplots(1, 2 if rates else 1, squeeze=False)[0]
    by_case = dict(sorted(evidence.data["by_case"].items()))
    several = len({d for d, _ in by_case}) > 1
    for ((d, beta), ends), color in zip(by_case.items(), style.sequence(len(by_case)), strict=True):
        times = sorted(end.time for end in ends)
        share = (np.arange(len(times)) + 1) / len(times)
        label = (f"d = {d}, " if several else "") + f"β = {beta:g}".replace("-", "−")
        axes[0].plot(times, share, "o-", color=color, linewidth=0.8, markersize=2.5, label=label)
    axes[0].set(xscale="log", ylim=(0, 1.05), xlabel="time t until there is one cluster")
    axes[0].set(ylabel="share of runs, cumulated")
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.59, 1.02))
    if rates:
        beta, rate = np.array(rates).T
        axes[1].plot(beta, rate, "o", color=style.BLUE, markersize=3, label="measured")
        line = np.linspace(beta[0], beta[-1], 100)
        curve = [triangle_rate(b) for b in line]
        axes[1].plot(line, curve, color=style.VERMILLION, linewidth=1, label="derived")
        axes[1].axhline(0, color=style.GREY, linewidth=0.6)
        axes[1].axvline(CRITICAL, color=style.GREY, linewidth=0.6, linestyle="--")
        axes[1].axvline(-0.16, color=style.GREY, linewidth=0.6, linestyle="--")
        axes[1].set(xlabel="β", ylabel="return rate of three clusters")
        axes[1].set_title("stable left of −2/3; proved: one cluster right of −0.16", fontsize=7)
        axes[1].legend()


CLAIM = Claim(
    name="synchrony",
    title="Full attention, d ≥ 3, β ≥ 0: one cluster from almost every start",
    paper="2405.18273",
    status="theorem",
    prediction="every run ends in one cluster",
    measure=measure_spheres,
    draw=draw,
)

ON_CIRCLE = Claim(
    name="synchrony-circle",
    title="Full attention, circle: one cluster if β ≥ −0.16, not if β < −2/3",
    paper="2507.22857",
    status="theorem",
    prediction="every run ends in one cluster; three stay below −2/3",
    measure=measure_circle,
    draw=draw,
)
