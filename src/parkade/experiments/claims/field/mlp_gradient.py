"""Full attention with an MLP that is a gradient climbs an energy, and ends in a few points.

With unnormalised attention and G(x) = Σ_m s_m a_m σ(a_m·x), that is W2 = W1ᵀ diag(s),

    dx_k/dt = P_{x_k} [(1/n) Σ_j e^{β⟨x_k, x_j⟩} x_j + G(x_k)] = grad_k E,
    E = 1/(2βn) Σ_ij e^{β⟨x_i, x_j⟩} + Σ_k Σ_m s_m S(a_m·x_k),   S′ = σ.

Under softmax the first term is divided by Z_k/n. Without an MLP this is only another metric, and
E still rises. With one it is no metric because G is not divided: where attention and G are opposed
and one is between 1 and n/Z_k times the other, E falls.
"""

from __future__ import annotations

import numpy as np

from parkade.analysis.clusters import cluster_labels
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.gradients import gradient
from parkade.experiments.experiment import Figure, Setup
from parkade.model import sphere
from parkade.model.parts.head import Head
from parkade.model.parts.mlp import MLP
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate

BETA, WIDTH = 3.0, 6
DIMENSIONS = (2, 3)
TOKENS = (12, 24)
"""If the limit were not atomic, twice the tokens would have twice the clusters."""

END, TOL = 15.0, 1e-7

STEP = 0.02
"""Step of the differences, whose error is of order (STEP·β)⁸."""

ROUNDING = 1e-9
"""Allowed error of velocities, which are of order 1."""

DROP = 1e-6
"""Allowed fall of the energy, which is of order n: the tolerance of a run."""

NEAR, FEW = 0.05, 6
"""Radius of clusters at the end, and the most that count as few."""


def draw_mlp(d: int, rng: np.random.Generator) -> tuple[MLP, Array]:
    """A random network that is a gradient, with a smooth activation, and its signs s."""
    a = rng.standard_normal((WIDTH, d))
    signs = rng.choice([-1.0, 1.0], WIDTH)
    return MLP(a, a.T * signs, activation="gelu"), signs


def transformer(network: MLP | None, d: int, attention: str) -> Transformer:
    """Full attention with this network."""
    return Transformer([Head(d=d, beta=BETA)], mlp=network, mask="full", attention=attention)


def energy(x: Array, network: MLP | None, signs: Array) -> Array:
    """E for tokens (..., n, d)."""
    from scipy.special import ndtr

    n = x.shape[-2]
    pairs = np.exp(BETA * (x @ x.swapaxes(-1, -2)))
    total: Array = pairs.sum(axis=(-1, -2)) / (2 * BETA * n)
    if network is None:
        return total
    z = x @ network.W1.T
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    antiderivative = (z**2 * ndtr(z) + z * density - ndtr(z)) / 2  # of z Φ(z)
    result: Array = total + (antiderivative @ signs).sum(axis=-1)
    return result


def mismatch(model: Transformer, x: Array, signs: Array) -> float:
    """The largest |dx_k/dt − grad_k E|, with the gradient from differences."""
    velocity = model.velocity(x)
    largest = 0.0
    for k in range(len(x)):
        basis, slope = gradient(lambda tokens: energy(tokens, model.mlp, signs), x, k, STEP)
        largest = max(largest, float(np.abs(basis @ velocity[k] - slope).max()))
    return largest


def opposed(name: str, setup: Setup) -> Array:
    """Cosines of velocities under softmax with the gradient of E, in random states of 4 tokens."""
    rng = setup.generator(7)
    cosines = []
    for _ in range(20):
        network = None if "no MLP" in name else draw_mlp(2, rng)[0]
        x = sphere.uniform(400, 2, rng).reshape(100, 4, 2)
        up = transformer(network, 2, "unnormalised").velocity(x).reshape(100, 8)
        moved = transformer(network, 2, "softmax").velocity(x).reshape(100, 8)
        sizes = np.linalg.norm(up, axis=1) * np.linalg.norm(moved, axis=1)
        cosines.append(np.sum(up * moved, axis=1) / sizes)
    return np.concatenate(cosines)


def fall(values: Array) -> float:
    """The largest fall below an earlier value."""
    return float(np.max(np.maximum.accumulate(values) - values))


def measure(setup: Setup) -> Evidence:
    """Compare velocities with gradients, then follow energies along runs."""
    tries = setup.choose(1, 6)
    cases = [(d, n, k) for d in DIMENSIONS for n in TOKENS for k in range(tries)]
    off, drops, softmax_drops, plain_drops = 0.0, [], [], []
    counts: dict[int, list[int]] = {n: [] for n in TOKENS}
    shown: list[tuple[Array, Array]] = []
    for d, n, k in setup.each(cases):
        rng = setup.generator(d, k)
        network, signs = draw_mlp(d, rng)
        x = sphere.uniform(n, d, rng)
        model = transformer(network, d, "unnormalised")
        off = max(off, mismatch(model, x, signs))
        run = simulate(model, x, END, tol=TOL)
        values = energy(run.tokens, network, signs)
        drops.append(fall(values))
        counts[n].append(len(np.unique(cluster_labels(run.final, NEAR))))
        soft = simulate(transformer(network, d, "softmax"), x, END, tol=TOL)
        softmax_drops.append(fall(energy(soft.tokens, network, signs)))
        plain = simulate(transformer(None, d, "softmax"), x, END, tol=TOL)
        plain_drops.append(fall(energy(plain.tokens, None, signs)))
        shown.append((run.times, values))
    cosines = {name: opposed(name, setup) for name in ("softmax", "softmax, no MLP")}
    means = {n: float(np.mean(counts[n])) for n in TOKENS}
    most = max(max(numbers) for numbers in counts.values())
    good = off < ROUNDING and max(drops + plain_drops) < DROP and most <= FEW
    good = good and cosines["softmax, no MLP"].min() > 0
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"equal to {off:.0e}; fall {max(drops):.0e} "
        f"(softmax {max(softmax_drops):.0e}); clusters: ≤ {most}",
        false_alarm=0.0,  # that limits have few points is generic; all else is for every start
        numbers={
            "runs": len(cases),
            "velocity minus gradient": off,
            "largest fall": max(drops),
            "largest fall under softmax, no MLP": max(plain_drops),
            "largest fall under softmax, MLP": max(softmax_drops),
            "share of softmax runs that fall": float(np.mean(np.array(softmax_drops) > DROP)),
            "share of random states in which it falls": {
                name: float(np.mean(values < 0)) for name, values in cosines.items()
            },
            "clusters": {str(n): counts[n] for n in TOKENS},
            "mean clusters": {str(n): means[n] for n in TOKENS},
        },
        data={"shown": shown, "cosines": cosines},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw energies along runs, and whether softmax climbs the energy."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2)
    for times, values in evidence.data["shown"]:
        left.plot(times, values - values[-1], color=style.BLUE, linewidth=0.8)
    left.set(xscale="symlog", xlim=(0, END), xlabel="time t", ylabel="energy − its last value")
    left.set_title("unnormalised attention and MLP: it never falls")
    bins = np.linspace(-1, 1, 41)
    colors = (style.VERMILLION, style.GREY)
    for (name, cosines), color in zip(evidence.data["cosines"].items(), colors, strict=True):
        right.hist(cosines, bins, density=True, histtype="step", color=color, label=name)
    right.axvline(0, color=style.BLACK, linewidth=0.8)
    right.set(yscale="log", xlabel="cosine of velocity and grad E", ylabel="density")
    right.set_title("softmax, random states: left of 0 it falls")
    right.legend(loc="upper left")


CLAIM = Claim(
    name="mlp-gradient",
    title="Full attention with a gradient MLP climbs an energy; limits are few points",
    paper="2601.21366",
    status="theorem",
    prediction=f"dx_k/dt = grad_k E; no fall; at most {FEW} clusters",
    measure=measure,
    draw=draw,
)
