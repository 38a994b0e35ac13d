"""Long contexts: with β = γ ln n, one layer of attention merges tokens, or does nothing.

Let each two of n tokens have the overlap ρ > 0. A token gives itself q = n^{γ(1−ρ)}/(n−1) times the
weight of all others together. So it sees the mean of all (q → 0), itself (q → ∞), or both equally
at γ = 1/(1−ρ). With the weights a of itself and b of each other one, and s = 1 + (n−1)ρ,

    ⟨F_i,F_j⟩ = (a−b)² ρ + 2(a−b)b s + b² n s,    |F_i|² = (a−b)² + 2(a−b)b s + b² n s,

which gives the cosine for every n. For γ < 1/(1−ρ) it is 1 − ((1−ρ)/ρ) n^{−2(1−γ(1−ρ))} to leading
order, and for γ > 1/(1−ρ) it is ρ + 2ρ(1−ρ) n^{1−γ(1−ρ)}. Orthogonal tokens (ρ = 0) are different:
their mean is of the size n^{−1/2}, so they become one only for γ < 1/2.
"""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.simplex import simplex
from parkade.experiments.experiment import Figure, Setup
from parkade.model.attention import Attention

OVERLAPS = (0.2, 0.5, 0.8)
BELOW, ABOVE = (0.3, 0.7), (1.4, 2.0)
"""γ as multiples of the critical 1/(1−ρ)."""

SIZES = (200, 2000)
"""Tokens of the layers that are computed, quickly and in full."""

FAR = 1e6
"""The longest context, by the closed form."""

ROUNDING = 1e-11
"""Allowed error of the cosine of a computed layer."""

NEAR = {"limit": 0.005, "exponent": 0.01}
"""Allowed distance from the limit at n = 1e6, and error of the exponent of n from 1e6 to 1e9."""


def limit(rho: float, ratio: float) -> float:
    """The claimed cosine for n → ∞; `ratio` is γ(1−ρ)."""
    if math.isclose(ratio, 1):
        return 4 * rho / (1 + 3 * rho)
    return 1.0 if ratio < 1 else rho


def parts(n: float, rho: float, ratio: float) -> tuple[float, float]:
    """(a−b)² and what ⟨F_i,F_j⟩ has besides (a−b)² ρ, in units of b²."""
    own = n**ratio - 1  # (a − b)/b
    s = 1 + (n - 1) * rho
    return own**2, 2 * own * s + n * s


def cosine(n: float, rho: float, ratio: float) -> float:
    """The cosine of two outputs for n tokens, in closed form."""
    own, shared = parts(n, rho, ratio)
    return (own * rho + shared) / (own + shared)


def gap(n: float, rho: float, ratio: float) -> float:
    """The distance of the cosine from its limit, without cancellation."""
    own, shared = parts(n, rho, ratio)
    if ratio < 1:
        return own * (1 - rho) / (own + shared)
    if ratio > 1:
        return shared * (1 - rho) / (own + shared)
    return abs(cosine(n, rho, ratio) - limit(rho, 1.0))


def exponent(ratio: float) -> float:
    """The derived exponent of n in the gap."""
    return -2 * (1 - ratio) if ratio < 1 else 1 - ratio


def measure(setup: Setup) -> Evidence:
    """Compute layers, compare them with the closed form, and this with the claim."""
    ratios = (*BELOW, 1.0, *ABOVE)
    n = setup.choose(*SIZES)
    error = distance = slope = 0.0
    table: list[dict[str, float]] = []
    dots: dict[float, list[float]] = {rho: [] for rho in OVERLAPS}
    for i, rho in enumerate(OVERLAPS):
        x = simplex(n, rho)
        for ratio in setup.part(i, len(OVERLAPS)).each(ratios):
            computed = layer(x, ratio / (1 - rho) * math.log(n))
            error = max(error, abs(computed - cosine(n, rho, ratio)))
            dots[rho].append(computed)
            far = cosine(FAR, rho, ratio)
            distance = max(distance, abs(far - limit(rho, ratio)))
            table.append(
                {"rho": rho, "gamma_ratio": ratio, "computed": computed, "far": far,
                 "limit": limit(rho, ratio)}
            )  # fmt: skip
            if ratio != 1:
                drop = math.log(gap(1e3 * FAR, rho, ratio) / gap(FAR, rho, ratio)) / math.log(1e3)
                slope = max(slope, abs(drop - exponent(ratio)))
    good = error < ROUNDING and distance < NEAR["limit"] and slope < NEAR["exponent"]
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"layer to {error:.0e}; n=1e6: {distance:.3f} off, exponents {slope:.3f} off",
        false_alarm=0.0,
        numbers={
            "tokens": n,
            "layer_minus_closed_form": error,
            "largest_distance_from_limit": distance,
            "largest_error_of_exponents": slope,
            "cosines": table,
            "cosine_without_overlap": {"gamma": 0.75, "n": FAR, "cosine": cosine(FAR, 0.0, 0.75)},
        },
        data={"ratios": np.array(ratios), "dots": dots, "n": n},
    )


def layer(x: Array, beta: float) -> float:
    """The cosine of two outputs of a layer of attention, without a residual connection."""
    force = Attention(d=x.shape[1], beta=beta, mask="full").force(x)[:2]
    return float(force[0] @ force[1] / np.linalg.norm(force, axis=1).prod())


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw cosines against γ for some n, and how they tend to their limits."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2)
    ratio = np.linspace(0.02, 2.2, 300)
    n = evidence.data["n"]
    for rho, color in zip(OVERLAPS, (style.BLUE, style.VERMILLION, style.GREEN), strict=True):
        for count, line in ((n, "-"), (FAR, "--"), (1e30, ":")):
            curve = [cosine(count, rho, one) for one in ratio]
            left.plot(ratio, curve, color=color, linestyle=line, linewidth=1)
        dots = evidence.data["dots"][rho]
        left.plot(
            evidence.data["ratios"], dots, "o", color=color, markersize=3.5, label=f"ρ = {rho:g}"
        )
        left.plot(
            1, limit(rho, 1.0), "D", color=style.BLACK, markersize=4, fillstyle="none", zorder=5
        )
    left.set(xlabel="γ (1 − ρ)", ylabel="cosine of two outputs", ylim=(0, 1.05))
    left.set_title(f"n = {n} (dots: a layer), $10^6$ (- -), $10^{{30}}$ (···)")
    left.legend(loc="lower left")
    sizes = np.geomspace(10, 1e9, 60)
    for ratio_, color in zip(
        evidence.data["ratios"], style.sequence(len(evidence.data["ratios"])), strict=True
    ):
        curve = [gap(one, 0.5, float(ratio_)) for one in sizes]
        right.plot(sizes, curve, color=color, linewidth=1.2, label=f"{ratio_:g}")
    right.set(xscale="log", yscale="log", xlabel="tokens n", ylabel="distance from the limit")
    right.set(ylim=(1e-9, 1.5))
    right.set_title("ρ = 0.5, at finite n")
    right.legend(title="γ (1 − ρ)", title_fontsize=7)


CLAIM = Claim(
    name="long-context",
    title="β = γ ln n: outputs become one, or stay as they are, around γ = 1/(1−ρ)",
    paper="2510.05554",
    status="theorem",
    prediction="cosine 1, 4ρ/(1+3ρ), ρ for γ <, =, > 1/(1−ρ)",
    measure=measure,
    draw=draw,
)
