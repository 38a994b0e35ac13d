"""Ours: the noise at which unnormalised attention begins to gather uniform tokens.

Let token k move by (1/n) Σ_j e^{β⟨x_k,x_j⟩} P x_j dt + √(2/κ) P∘dW_k. Since e^{β⟨x,y⟩} P_x y is the
gradient of e^{β⟨x,y⟩}/β, the law μ of many tokens obeys

    ∂μ/∂t = −(1/β) div(μ ∇ K*μ) + (1/κ) Δμ,      K*μ(x) = ∫ e^{β⟨x,y⟩} μ(dy).

Near the uniform law, let μ = 1 + ε Y with a spherical harmonic Y of degree l. By the theorem of
Funk and Hecke K*Y = w_l Y, where w_l = Γ(d/2)(2/β)^{d/2−1} I_{d/2+l−1}(β), and ΔY = −l(l+d−2) Y. So

    dε/dt = l(l+d−2) (w_l/β − 1/κ) ε.

w_l falls with l, and the first harmonic is the first to grow: at κ_c = β/w_1, which tends to d for
β → 0. Of finitely many tokens, the mean a is a Gaussian vector with n E|a|² = 1 at the start and

    d E|a|²/dt = 2r E|a|² + 2(d−1)/(κn),      r = (d−1)(1/κ_c − 1/κ),

as long as |a| is small. So each measured E|a|² gives an r, and with it a κ_c.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.statistics import LEVEL
from parkade.model import sphere
from parkade.model.parts.head import Head
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate_many

CASES = ((2, 1.0), (3, 1.0), (2, 4.0), (3, 3.0))
"""Dimensions and values of β."""

BELOW, ABOVE = 0.6, 2.0
"""κ in units of κ_c."""

N, CLOCK = 64, 1.2
"""Tokens; and the time of a run in units of κ_c/(d−1)."""

TOL = 1e-2
"""Error of a step; laws are much more exact than paths."""

BIAS = 0.06
"""Allowed besides, as a share of E|a|²: |a| is not small, and n is finite."""


class Point(NamedTuple):
    """The measured n|a|² of runs with one κ."""

    d: int
    beta: float
    kappa: float
    time: float
    squares: Array


def harmonic(degree: int, d: int, beta: float) -> float:
    """w_l: the eigenvalue of e^{β⟨x,y⟩} on spherical harmonics of a degree."""
    from scipy.special import iv

    return float(math.gamma(d / 2) * (2 / beta) ** (d / 2 - 1) * iv(d / 2 + degree - 1, beta))


def threshold(d: int, beta: float) -> float:
    """The threshold κ_c = β/w_1 from which on uniform tokens gather."""
    return beta / harmonic(1, d, beta)


def attention(d: int, beta: float, kappa: float) -> Transformer:
    """Unnormalised full attention with noise."""
    return Transformer([Head(d=d, beta=beta)], attention="unnormalised", mask="full", noise=kappa)


def growth(rate: float, d: int, kappa: float, t: float) -> float:
    """N E|a|² at time t."""
    change = 2 * rate * t
    more = math.expm1(change) / change if change else 1.0
    return math.exp(change) + 2 * (d - 1) / kappa * t * more


def expected(point: Point) -> float:
    """N E|a|² by the claim."""
    critical = threshold(point.d, point.beta)
    rate = (point.d - 1) * (1 / critical - 1 / point.kappa)
    return growth(rate, point.d, point.kappa, point.time)


def estimate(point: Point) -> float:
    """The threshold κ_c that explains the measured mean of n|a|²."""
    from scipy.optimize import brentq

    mean, d = float(point.squares.mean()), point.d
    rate = brentq(lambda r: growth(r, d, point.kappa, point.time) - mean, -50 / point.time, 50)
    return float(1 / (rate / (d - 1) + 1 / point.kappa))


def chance(point: Point) -> float:
    """The probability of a sum of n|a|² at least as far from the expected one, but for `BIAS`.

    d·n|a|²/E(n|a|²) is χ² with d degrees of freedom for each run.
    """
    from scipy.stats import chi2

    freedom = point.d * len(point.squares)
    ratio = float(point.squares.mean()) / expected(point)
    high = chi2.sf(freedom * ratio / (1 + BIAS), freedom)
    low = chi2.cdf(freedom * ratio / (1 - BIAS), freedom)
    return float(min(1.0, 2 * min(high, low)))


def measure(setup: Setup) -> Evidence:
    """Start uniform tokens below and above the threshold."""
    cases = setup.choose(CASES[:2], CASES)
    runs = setup.choose(15, 300)
    points = []
    for i, (d, beta) in enumerate(cases):
        critical = threshold(d, beta)
        for j, factor in enumerate((BELOW, ABOVE)):
            t = CLOCK * critical / (d - 1)
            rng = setup.generator(i, j)
            starts = [sphere.uniform(N, d, rng) for _ in range(runs)]
            model = attention(d, beta, factor * critical)
            ends = simulate_many(model, starts, t, tol=TOL, seed=rng)
            squares = np.array([N * np.sum(run.final.mean(axis=0) ** 2) for run in ends])
            points.append(Point(d, beta, factor * critical, t, squares))
            setup.report((2 * i + j + 1) / (2 * len(cases)))
    agrees = all(chance(point) > LEVEL / len(points) for point in points)
    ratios = [estimate(point) / threshold(point.d, point.beta) for point in points]
    return Evidence(
        verdict="agrees" if agrees else "contradicts",
        measured=f"κ_c/(β/w₁) = {min(ratios):.2f} … {max(ratios):.2f} in {len(points)} cases",
        false_alarm=LEVEL,
        numbers={
            f"d={p.d}, beta={p.beta:g}, kappa={p.kappa:.4g}": {
                "critical": threshold(p.d, p.beta),
                "critical, measured": estimate(p),
                "n|a|^2": float(p.squares.mean()),
                "n|a|^2, expected": expected(p),
                "chance": chance(p),
            }
            for p in points
        },
        data={"points": points},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the threshold over β, with the measured ones, and n|a|² against what is expected."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2)
    points: list[Point] = evidence.data["points"]
    beta = np.linspace(0.01, 5, 200)
    for d, color in ((2, style.BLUE), (3, style.VERMILLION)):
        left.plot(beta, [threshold(d, b) for b in beta], color=color, label=f"β/w₁, d = {d}")
        some = [p for p in points if p.d == d]
        for mark, side in (("v", 0), ("^", 1)):
            estimates = [(p.beta, estimate(p)) for p in some[side::2]]
            left.plot(*zip(*estimates, strict=True), mark, color=color, markersize=4)
        means = np.array([(expected(p), p.squares.mean()) for p in some])
        error = [2 * p.squares.std() / len(p.squares) ** 0.5 for p in some]
        right.errorbar(*means.T, yerr=error, fmt="o", color=color, markersize=3, label=f"d = {d}")
    left.set(xlabel="β", ylabel="κ$_c$", ylim=(0, None))
    left.set_title("▾ from runs below, ▴ from runs above", fontsize=7)
    left.legend()
    most = 1.1 * max(expected(p) for p in points)
    right.plot([0, most], [0, most], color=style.BLACK, linewidth=0.8)
    right.set(xlabel="n E|mean|², derived", ylabel="measured (± 2 standard errors)")
    right.legend()


CLAIM = Claim(
    name="noise-threshold",
    title="Noise: uniform tokens gather from κ = β/w₁ on, w₁ = Γ(d/2)(2/β)^(d/2−1) I_{d/2}(β)",
    paper=OURS,
    status="derived",
    prediction="κ_c = β/w₁ from the growth of the mean, up to its error",
    measure=measure,
    draw=draw,
)
