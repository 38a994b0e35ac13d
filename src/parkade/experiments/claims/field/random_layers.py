"""Layers with fresh random values: overlaps follow a closed equation, and freeze when it is cold.

A layer is x_i ← N(x_i + h V Σ_k π_ik x_k), where the entries of V are drawn anew with variance
1/d, so that E VᵀV = I. Let all overlaps ⟨x_i, x_j⟩ be γ. With y_i = Σ_k π_ik x_k,

    ⟨y_i, y_j⟩ = γ + (1 − γ)g,  g = Σ_k π_ik π_jk,     |y_i|² = γ + (1 − γ)f,  f = Σ_k π_ik²,

and for large d the products of Vy_i and Vy_j are those of y_i and y_j, while Vy_i is orthogonal to
all tokens. So after a layer γ is (γ + h²⟨y_i, y_j⟩)/(1 + h²|y_i|²), and with s = h² · layers

    dγ/ds = γ + (1 − γ)g − γ(γ + (1 − γ)f).

For β → ∞ tokens attend to themselves, f = 1 and g = 0, and γ rests. What moves then is of order
1/d: by Itô's formula dγ = −γ(1 − γ²)/d ds + √(2/d)(1 − γ²) dB. So overlaps are frozen for s ≪ d,
and the mean square of their change is 2(1 − γ²)² s/d (over (1 + h²)² because h is not 0).
"""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import Figure, Setup
from parkade.experiments.statistics import LEVEL, Mean, allowed_sigmas, mean
from parkade.model.sphere import normalize

WIDE, N, FIRST = 256, 24, 0.2
"""Dimension, tokens, and the overlap γ at the start."""

STEP, DEPTH = 0.2, 75
"""The step h and the number of layers: s goes up to 3."""

BETAS = (0.0, 4.0, 6.0)
"""Hot, and on both sides of the β at which a token attends to itself as much as to all others."""

COLD = 60.0
DIMENSIONS = (32, 64, 128)
"""β and dimensions in which tokens are frozen."""

NARROW = 6 / WIDE
"""Allowed deviation beyond chance: what is neglected is of order s/d."""


def simplex(n: int, d: int, overlap: float) -> Array:
    """Tokens with all overlaps equal, (n, d); d > n."""
    x = np.zeros((n, d))
    x[:, 0] = math.sqrt(overlap)
    x[np.arange(n), 1 + np.arange(n)] = math.sqrt(1 - overlap)
    return x


def overlaps(x: Array) -> Array:
    """⟨x_i, x_j⟩ for all pairs i < j."""
    i, j = np.triu_indices(x.shape[-2], 1)
    result: Array = (x @ x.swapaxes(-1, -2))[..., i, j]
    return result


def layer(x: Array, beta: float, rng: np.random.Generator) -> Array:
    """The tokens after a layer, (r, n, d), of r systems, each with its own V.

    The vectors Vy_i of a system are Gaussian with covariances ⟨y_i, y_j⟩/d in each coordinate.
    This is all that is drawn of V.
    """
    n, d = x.shape[-2:]
    weights = np.exp(beta * (x @ x.swapaxes(-1, -2) - 1))
    y = weights @ x / weights.sum(axis=-1, keepdims=True)
    values, vectors = np.linalg.eigh(y @ y.swapaxes(-1, -2))
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    moved = x + STEP / math.sqrt(d) * (root @ rng.standard_normal((len(x), n, d)))
    return normalize(moved.reshape(-1, d)).reshape(x.shape)


def pass_through(x: Array, beta: float, depth: int, rng: np.random.Generator) -> Array:
    """Overlaps of all pairs before each layer and after the last one: (depth + 1, r, pairs)."""
    seen = [overlaps(x)]
    for _ in range(depth):
        x = layer(x, beta, rng)
        seen.append(overlaps(x))
    return np.array(seen)


def recursion(n: int, beta: float, depth: int) -> Array:
    """γ before each layer and after the last one as derived, (depth + 1,)."""
    overlap = [FIRST]
    for _ in range(depth):
        gamma = overlap[-1]
        other = math.exp(-beta * (1 - gamma))
        total = 1 + (n - 1) * other
        own, each = 1 / total, other / total
        f = own**2 + (n - 1) * each**2
        g = 2 * own * each + (n - 2) * each**2
        grown = gamma + STEP**2 * (gamma + (1 - gamma) * g)
        overlap.append(grown / (1 + STEP**2 * (gamma + (1 - gamma) * f)))
    return np.array(overlap)


def measure(setup: Setup) -> Evidence:
    """Compare mean overlaps with the recursion; then see how slowly cold ones move."""
    runs = setup.choose(8, 60)
    at = np.arange(0, DEPTH + 1, DEPTH // 5)[1:]
    seen: dict[float, Array] = {}
    for i, beta in enumerate(BETAS):
        starts = np.repeat(simplex(N, WIDE, FIRST)[None], runs, axis=0)
        passed = pass_through(starts, beta, DEPTH, setup.generator(1, i))
        seen[beta] = passed.mean(axis=2).T  # (runs, layers)
        setup.report(0.8 * (i + 1) / len(BETAS))
    allowed = allowed_sigmas(len(BETAS) * len(at) + len(DIMENSIONS))
    worst = 0.0
    for beta, rows in seen.items():
        for k in at:
            m = mean(rows[:, k])
            gap = abs(m.value - recursion(N, beta, DEPTH)[k]) - allowed * m.error
            worst = max(worst, gap)
    frozen = {d: _frozen(d, setup) for d in DIMENSIONS}
    slow = max(abs(m.value - 1) - allowed * m.error for m in frozen.values())
    good = worst < NARROW and slow < NARROW
    ends = ", ".join(f"{seen[b][:, -1].mean():.3f}" for b in BETAS)
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"γ = {ends}; cold: "
        + ", ".join(f"{m.value:.2f}" for m in frozen.values())
        + " of it",
        false_alarm=LEVEL,
        numbers={
            "runs": runs,
            "s": (STEP**2 * np.arange(DEPTH + 1)).tolist(),
            "overlap": {f"{b:g}": seen[b].mean(axis=0).tolist() for b in BETAS},
            "error": {f"{b:g}": (seen[b].std(axis=0) / runs**0.5).tolist() for b in BETAS},
            "derived": {f"{b:g}": recursion(N, b, DEPTH).tolist() for b in BETAS},
            "deviation beyond chance": worst,
            "cold: mean square over derived": {str(d): list(m) for d, m in frozen.items()},
        },
    )


def _frozen(d: int, setup: Setup) -> Mean:
    """The mean square change of cold overlaps until s = d/200, over the derived one.

    Each run has one pair, so that the changes are independent.
    """
    depth = max(1, round(d / 200 / STEP**2))
    starts = np.repeat(simplex(2, d, FIRST)[None], setup.choose(1000, 8000), axis=0)
    moved = pass_through(starts, COLD, depth, setup.generator(2, d))[-1, :, 0] - FIRST
    derived = 2 * ((1 - FIRST**2) / (1 + STEP**2)) ** 2 * STEP**2 * depth / d
    return mean(np.square(moved) / derived)


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the overlaps against depth, and the change of cold ones against the dimension."""
    from parkade.plots import style

    numbers = evidence.numbers
    hot, cold = figure.subplots(1, 2, width_ratios=[3, 2])
    s = np.array(numbers["s"])
    for beta, color in zip(BETAS, (style.VERMILLION, style.GREEN, style.BLUE), strict=True):
        key = f"{beta:g}"
        error = 5 * np.array(numbers["error"][key])[::5]
        seen = np.array(numbers["overlap"][key])[::5]
        hot.errorbar(
            s[::5], seen, error, fmt="o", color=color, markersize=3, linewidth=0.8,
            label=f"β = {key}",
        )  # fmt: skip
        hot.plot(s, numbers["derived"][key], color=color, linewidth=1)
    hot.set(xlabel="s = h² · layers", ylabel="overlap γ", ylim=(0, 1))
    hot.set_title(f"d = {WIDE}, n = {N}; lines: derived for d → ∞")
    hot.legend()
    ratios = numbers["cold: mean square over derived"]
    values, errors = np.array([ratios[str(d)] for d in DIMENSIONS]).T
    cold.errorbar(DIMENSIONS, values, 5 * errors, fmt="o", color=style.BLUE, markersize=3)
    cold.axhline(1, color=style.BLACK, linewidth=0.8)
    cold.set(xscale="log", xlabel="dimension d", ylim=(0, 2), xlim=(25, 165))
    cold.set_xticks(DIMENSIONS, [str(d) for d in DIMENSIONS])
    cold.minorticks_off()
    cold.set_title(f"β = {COLD:g}: mean (Δγ)² over derived")


CLAIM = Claim(
    name="random-layers",
    title="Fresh random values in every layer: overlaps grow, but freeze when cold",
    paper="2604.01978",
    status="theorem",
    prediction="γ = " + ", ".join(f"{recursion(N, b, DEPTH)[-1]:.3f}" for b in BETAS)
    + "; cold: (Δγ)² ∝ s/d",
    measure=measure,
    draw=draw,
)  # fmt: skip
