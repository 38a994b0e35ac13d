"""How fast tokens start: slowly with post- and pre-norm, at full speed with peri-norm and nGPT.

Let m tokens be seen by a token x, itself included, and β = 1. If they are orthogonal, the force is
(e x + Σ others)/(e + m − 1), so its part along the sphere is √(m−1)/(e+m−1) ≈ m^{−1/2}: small. A
normalisation that divides by |F| makes it √((m−1)/(e²+m−1)) ≈ 1. For n uniform tokens in d
dimensions, ⟨x,x_j⟩ = u is random and the others also pull along x, by E[u e^u] ≈ 1/d. So |F| ≈
n^{−1/2} + 1/d, and only the first part moves a token.
"""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.simplex import simplex
from parkade.experiments.experiment import Figure, Setup
from parkade.experiments.statistics import LEVEL, Mean, allowed_sigmas, mean
from parkade.model import sphere
from parkade.model.parts.head import Head
from parkade.model.parts.norm import NGPT, Mix, Norm, read
from parkade.model.transformer import Transformer

BETA, ALPHA, RADIUS = 1.0, 0.5, 3.0
"""β, the α of nGPT, and the first length r_0 of tokens."""

NORMS: tuple[Norm, ...] = (
    read("post"), read("sqrt"), Mix(tau=1.0), read("pre"), read("peri"), NGPT(alpha=ALPHA),
)  # fmt: skip
ORTHOGONAL = (2, 5, 16, 64)
ROUNDING = 1e-13

DIMENSIONS = (16, 256)
NUMBERS = (16, 64, 256, 1024)
SAMPLES = 30


def factor(norm: Norm, force: float) -> float:
    """The factor that a normalisation gives the tangential part of a force at t = 0."""
    radius = RADIUS if norm.name in ("pre", "peri") else 1.0
    divisor = force if norm.uses_force else 1.0
    return (ALPHA if norm.name == "ngpt" else 1.0) / (radius * divisor)


def orthogonal_speed(norm: Norm, m: Array) -> Array:
    """The claimed speed of a token that sees m orthogonal tokens, itself included."""
    e, others = math.exp(BETA), m - 1.0
    tangent, force = np.sqrt(others), np.sqrt(e * e + others)
    speeds = [
        t * factor(norm, f)
        for t, f in zip(tangent / (e + others), force / (e + others), strict=True)
    ]
    return np.array(speeds)


def random_force(n: float, d: int) -> tuple[float, float]:
    """Mean squares of the tangential and of the whole force on one of n uniform tokens.

    Leading order: Z and the radial part are replaced by their means.
    """
    from scipy.special import roots_jacobi

    u, weight = roots_jacobi(60, (d - 3) / 2, (d - 3) / 2)  # the law of the overlap of two tokens
    weight /= weight.sum()
    grown = np.exp(BETA * u)
    total = math.exp(BETA) + (n - 1) * (weight @ grown)
    tangent = (n - 1) * (weight @ (grown**2 * (1 - u * u))) / total**2
    radial = (math.exp(BETA) + (n - 1) * (weight @ (u * grown))) / total
    return float(tangent), float(tangent + radial**2)


def measure(setup: Setup) -> Evidence:
    """Compare first speeds of orthogonal tokens, exactly, and of random ones, on average."""
    exact = max(
        orthogonal_error(norm, n, mask)
        for norm in NORMS for n in ORTHOGONAL for mask in ("full", "causal")
    )  # fmt: skip
    numbers = NUMBERS[: setup.choose(2, 4)]
    cases = [(d, n) for d in DIMENSIONS for n in numbers]
    slow: dict[tuple[int, int], Mean] = {}
    fast: dict[tuple[int, int], Mean] = {}
    excess = 0.0
    for d, n in setup.each(cases):
        slow[d, n], fast[d, n] = speeds(d, n, setup)
        tangent, whole = random_force(n, d)
        for speed, claimed in ((slow[d, n], tangent), (fast[d, n], tangent / whole)):
            # Leading order: corrections of the relative size 1/d and 1/n are not derived.
            gap = max(abs(speed.value - claimed) - claimed * (1 / d + 1 / n), 0.0)
            excess = max(excess, gap / speed.error)
    allowed = allowed_sigmas(2 * len(cases), SAMPLES)
    last = DIMENSIONS[-1], numbers[-1]
    return Evidence(
        verdict="agrees" if exact < ROUNDING and excess <= allowed else "contradicts",
        measured=(
            f"orthogonal: equal to {exact:.0e}; random (n={last[1]}): "
            f"{math.sqrt(slow[last].value):.3f}, {math.sqrt(fast[last].value):.3f}"
        ),
        false_alarm=LEVEL,
        numbers={
            "orthogonal_error": exact,
            "samples": SAMPLES,
            "speeds": [
                {"d": d, "n": n, "post": math.sqrt(slow[d, n].value),
                 "ngpt_alpha_1": math.sqrt(fast[d, n].value)}
                for d, n in cases
            ],
            "excess_sigmas": excess,
            "allowed_sigmas": allowed,
        },
        data={"slow": slow, "fast": fast},
    )  # fmt: skip


def orthogonal_error(norm: Norm, n: int, mask: str) -> float:
    """The largest difference of a first speed and the claimed one, for n orthogonal tokens."""
    model = Transformer([Head(d=n, beta=BETA)], norm=norm, mask=mask)
    radii = np.full(n, RADIUS) if norm.name in ("pre", "peri") else None
    measured = np.linalg.norm(model.velocity(simplex(n, 0.0), radii=radii), axis=1)
    seen = np.full(n, float(n)) if mask == "full" else np.arange(1.0, n + 1)
    return float(np.abs(measured - orthogonal_speed(norm, seen)).max())


def speeds(d: int, n: int, setup: Setup) -> tuple[Mean, Mean]:
    """Mean squares of the first speeds of uniform tokens, with post-norm and nGPT (α = 1)."""
    squares = np.empty((SAMPLES, 2))
    models = [
        Transformer([Head(d=d, beta=BETA)], norm=norm, mask="full")
        for norm in (read("post"), NGPT(alpha=1.0))
    ]
    for s in range(SAMPLES):
        # All tokens of a sample feel nearly the same force: samples are independent, tokens not.
        x = sphere.uniform(n, d, setup.generator(d, n, s))
        squares[s] = [np.mean(np.sum(model.velocity(x) ** 2, axis=1)) for model in models]
    return mean(squares[:, 0]), mean(squares[:, 1])


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw first speeds against the number of tokens: orthogonal and random ones."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2)
    n = np.geomspace(2, 2000, 100)
    styles = {
        "post": (style.BLUE, "-"), "pre": (style.BLUE, "--"),
        "peri": (style.VERMILLION, "--"), "ngpt": (style.VERMILLION, "-"),
    }  # fmt: skip
    labels = {
        "post": "post, mix, sqrt", "pre": "pre, $r_0 = 3$",
        "peri": "peri, $r_0 = 3$", "ngpt": "nGPT, α = ½",
    }  # fmt: skip
    for norm in NORMS:
        if norm.name in styles:
            color, line = styles[norm.name]
            left.plot(
                n, orthogonal_speed(norm, n), color=color, linestyle=line, label=labels[norm.name]
            )
    left.set(xscale="log", yscale="log", xlabel="tokens n", ylabel="first speed")
    left.set_title("orthogonal tokens: derived, and equal")
    left.legend(loc="lower left")
    n = np.geomspace(8, 4000, 100)
    for d, shape in zip(DIMENSIONS, "os", strict=True):
        forces = np.array([random_force(one, d) for one in n])
        for name, color, curve in (
            ("slow", style.BLUE, forces[:, 0]),
            ("fast", style.VERMILLION, forces[:, 0] / forces[:, 1]),
        ):
            points = [
                (k, math.sqrt(v.value)) for (dim, k), v in evidence.data[name].items() if dim == d
            ]
            right.plot(n, np.sqrt(curve), color=color, linewidth=1)
            label = f"{'post' if name == 'slow' else 'nGPT, α = 1'}, d = {d}"
            right.plot(*zip(*points, strict=True), shape, color=color, markersize=3.5, label=label)
    right.set(xscale="log", yscale="log", xlabel="tokens n", ylim=(0.01, 1.4))
    right.set_title("uniform tokens (dots) and derived (lines)")
    right.legend(loc="lower left")


CLAIM = Claim(
    name="norm-start",
    title="Post- and pre-norm start slowly, peri-norm at 1/r₀, nGPT at α",
    paper="2510.22026",
    status="derived",
    prediction="n^(−1/2) (post), near 1 (α=1, r₀=1) if e² ≪ n ≪ d²",
    measure=measure,
    draw=draw,
)
