"""Lost in the middle: the first and the last tokens of a text have the most influence on its end.

On the circle, without a term of a token with itself and with Z made of the ALiBi weights only,

    dθ_i/dt = Σ_{j<i} a_ij h(θ_j − θ_i),   h(φ) = e^{β cos φ} sin φ,
    a_ij = e^{−λ(i−j)/n} / Σ_{k<i} e^{−λ(i−k)/n}.

Tokens start uniform and independent. The influence of token j on the last one is

    p_j = E[∂θ_n(t)/∂θ_j(0) · cos(θ_n(t) − θ_j(0))] = E cos(θ_n(t) − θ_j(0)),

where both sides are equal by parts over θ_j(0). The mean over the uniform θ_i of e^{iθ_i} times
h(θ_k − θ_i) is c e^{iθ_k}/i with c = I_1(β)/β. So up to relative terms of order 1/n, and while
tokens are nearly independent, p = (last row of) e^{tcA}. For n → ∞ the kernel is f(s)/F(x) with
f = λe^{λs} and F its integral, so powers of A are powers of a logarithm, and with τ = ct

    n p(s) = f(s)/F(1) · √(τ/L) I_1(2√(τL)),   L = ln(F(1)/F(s)).

It grows without bound at s = 0, and rises towards s = 1 if τ < 2(1 − e^{−λ}): it is U-shaped then.
"""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.experiment import Figure, Setup
from parkade.experiments.statistics import LEVEL, Mean, allowed_sigmas, mean, worst

N, BETA, T = 48, 1.0, 1.0

RATES = (1.5, 0.0)
"""λ: with ALiBi the influence is U-shaped, without it falls from the first token to the last."""

STEPS, BATCH = 4, 100
"""Steps of the method of Runge and Kutta, and runs at once."""

FINITE = 8 / N
"""Allowed relative deviation: what is neglected is of order 1/n."""


def weights(rate: float, n: int = N) -> Array:
    """The matrix A: row i has the weights that token i gives to earlier ones."""
    i = np.arange(n)
    w = np.tril(np.exp(-rate * (i[:, None] - i) / n), -1)
    A: Array = w / np.maximum(w.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return A


def velocity(theta: Array, A: Array) -> tuple[Array, Array]:
    """dθ/dt, (r, n), and the terms of its Jacobian off the diagonal, (r, n, n), of r systems."""
    s, c = np.sin(theta), np.cos(theta)  # of gaps by addition theorems: fewer calls
    sine = s[:, None, :] * c[:, :, None] - c[:, None, :] * s[:, :, None]
    cosine = c[:, None, :] * c[:, :, None] + s[:, None, :] * s[:, :, None]
    pull = A * np.exp(BETA * cosine)
    return (pull * sine).sum(axis=2), pull * (cosine - BETA * sine**2)


def influences(start: Array, A: Array, t: float) -> tuple[Array, Array]:
    """θ_n(t) and its derivatives with respect to all starts, (r,) and (r, n).

    The derivatives are those of the discrete steps, by going back through them.
    """
    dt, theta = t / STEPS, start
    tape: list[list[Array]] = []
    for _ in range(STEPS):
        k, slopes, stages = np.zeros_like(theta), [], []
        for share in (0.0, 0.5, 0.5, 1.0):
            k, M = velocity(theta + share * dt * k, A)
            slopes.append(k)
            stages.append(M)
        theta = theta + dt / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])
        tape.append(stages)
    back = np.zeros_like(start)
    back[:, -1] = 1.0
    for stages in reversed(tape):
        total, later = back, np.zeros_like(back)
        for M, part, share in zip(
            reversed(stages), (1, 2, 2, 1), (0.0, 1.0, 0.5, 0.5), strict=True
        ):
            seed = dt / 6 * part * back + share * dt * later
            later = np.einsum("rij,ri->rj", M, seed) - M.sum(axis=2) * seed
            total = total + later
        back = total
    return theta[:, -1], back


def predicted(rate: float, t: float = T) -> Array:
    """p_j for all j < n: the last row of e^{tcA}."""
    from scipy.linalg import expm
    from scipy.special import iv

    result: Array = expm(t * float(iv(1, BETA)) / BETA * weights(rate))[-1, :-1]
    return result


def profile(rate: float, setup: Setup, batches: int) -> list[Mean]:
    """The influence of each token but the last one, from random starts."""
    from scipy.special import iv

    A = weights(rate)
    rows = []
    for batch in range(batches):
        rng = setup.generator(int(10 * rate), batch)
        start = rng.uniform(-np.pi, np.pi, (BATCH, N))
        last, slope = influences(start, A, T)
        influence = slope * np.cos(last[:, None] - start)
        # The first order in t has a known mean. Most of the noise is in its deviation from it.
        gap = start - start[:, -1:]
        pull = np.exp(BETA * np.cos(gap)) * (np.cos(gap) - BETA * np.sin(gap) ** 2) * np.cos(gap)
        known = T * A[-1] * (pull - float(iv(1, BETA)) / BETA)
        rows.append((influence - known)[:, :-1])
    return [mean(column) for column in np.concatenate(rows).T]


def measure(setup: Setup) -> Evidence:
    """Measure the profiles, and compare them with the closed form."""
    batches = setup.choose(9, 60)
    profiles = {rate: profile(rate, setup, batches) for rate in setup.each(RATES)}
    allowed = allowed_sigmas(len(RATES) * (N + 1))
    off = {
        rate: max(
            (abs(m.value - e) - allowed * m.error) / e
            for m, e in zip(profiles[rate], predicted(rate), strict=True)
        )
        for rate in RATES
    }
    shaped, falling = profiles[RATES[0]], profiles[RATES[1]]
    low = int(np.argmin(predicted(RATES[0])))
    middle = (N - 1) // 2
    verdicts: list[Judgement] = [
        _higher(shaped[0], shaped[low], allowed),
        _higher(shaped[-1], shaped[low], allowed),
        _higher(falling[middle], falling[-1], allowed),
        "agrees" if max(off.values()) < FINITE else "contradicts",
    ]
    if not 0 < low < N - 2:
        verdicts.append("contradicts")
    values = [m.value * N for m in shaped]
    return Evidence(
        verdict=worst(verdicts),
        measured=f"{values[0]:.2f}, {values[low]:.2f} (token {low + 1}), {values[-1]:.2f}; "
        f"{max(0.0, *off.values()):.0%} off",
        false_alarm=LEVEL,
        numbers={
            "starts": batches * BATCH,
            "n times influence": {str(r): [m.value * N for m in profiles[r]] for r in RATES},
            "errors": {str(r): [m.error * N for m in profiles[r]] for r in RATES},
            "closed form": {str(r): (predicted(r) * N).tolist() for r in RATES},
            "relative deviation beyond chance": {str(r): off[r] for r in RATES},
            "lowest": low,
        },
    )


def _higher(a: Mean, b: Mean, sigmas: float) -> Judgement:
    gap = Mean(a.value - b.value, float(np.hypot(a.error, b.error)))
    if abs(gap.value) < sigmas * gap.error:
        return "undecided"
    return "agrees" if gap.value > 0 else "contradicts"


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw both profiles with the closed forms."""
    from parkade.plots import style

    numbers = evidence.numbers
    titles = ("with ALiBi, λ = {:g}: U-shaped", "without: it falls")
    for ax, rate, title in zip(figure.subplots(1, 2), RATES, titles, strict=True):
        j = np.arange(1, N)
        ax.errorbar(
            j, numbers["n times influence"][str(rate)],
            [5 * e for e in numbers["errors"][str(rate)]],
            fmt="o", color=style.BLUE, markersize=2.5, linewidth=0.7, label="measured, 5σ",
        )  # fmt: skip
        curve = numbers["closed form"][str(rate)]
        ax.plot(j, curve, color=style.BLACK, linewidth=1, label="closed form")
        ax.set(xlabel="token j", title=title.format(rate), ylim=(0, None))
        ax.set_ylabel("influence on the last token × n")
        ax.legend()


CLAIM = Claim(
    name="lost-in-the-middle",
    title="Influence on the last token is U-shaped in the position",
    paper="2605.09213",
    status="theorem",
    prediction=f"lowest inside; the closed form up to {FINITE:.0%}",
    measure=measure,
    draw=draw,
)
