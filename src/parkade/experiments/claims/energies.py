"""Lemma 5.3: each token descends an energy of its own, made of the tokens before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parkade import theory
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Effort
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIMENSIONS = {2: True, 3: True, 5: False}
"""The circle, as in the lemma, and spheres, on which the same holds; whether to simulate, too."""

BETA, N = 16.0, 12

STEP = 0.05 / BETA**0.5
"""Of the differences: their error is (STEP·√β)⁸/630 ≈ 6e-14 in the energy's own units."""

ROUNDING = 1e-10
"""Allowed in velocities, which are below 1: a thousand times the error of the differences."""

TOL, END = 1e-9, 1e4

CLIMB = 1e-3
"""A rise by this share of 1/β, the energy of a token at its elder, counts as one."""

# Eighth-order central differences: f′ ≈ Σ w_i (f(+i·s) − f(−i·s)) / s.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def measure(effort: Effort) -> Evidence:
    """Compare velocities with gradients, then watch energies along the flow."""
    tries = effort.choose(10, 50)
    mismatch, climb = 0.0, 0.0
    rises: list[bool] = []
    shown: dict[str, tuple[Array, Array]] = {}
    clearest = 0.0
    jobs = [(d, k) for d in DIMENSIONS for k in range(tries)]
    for i, (d, k) in enumerate(jobs):
        model = Attention(d=d, beta=BETA)
        x = sphere.uniform(N, d, effort.generator(d, k))
        mismatch = max(mismatch, *(descent_error(model, x, j) for j in range(1, N)))
        effort.report((i + 1) / len(jobs))
        if not DIMENSIONS[d]:
            continue
        # The last token among the others, first held fast, then free to move.
        alone = simulate(model, x[-1:], END, frozen=x[:-1], tol=TOL)
        held = theory.sequential_energies(alone.tokens, BETA, frozen=x[:-1])[:, 0]
        climb = max(climb, rise(held))
        together = simulate(model, x, END, tol=TOL)
        free = theory.sequential_energies(together.tokens, BETA)
        rises += [rise(e) > CLIMB for e in free[:, 2:].T]  # E_2 has one elder, which rests
        clear = min(rise(free[:, -1]), rise(-held))
        if d == 2 and clear > clearest:
            clearest = clear
            shown = {"held": (alone.times, held), "free": (together.times, free[:, -1])}
    # What an error of TOL in the place of the token can do.
    allowed = BETA * (N - 1) * theory.h_max(BETA).value * TOL
    good = mismatch < ROUNDING and climb < allowed
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"equal to {mismatch:.0e}, rise {climb:.0e}; unfrozen {np.mean(rises):.0%} rise",
        false_alarm=0.0,  # the lemma leaves nothing to chance
        numbers={
            "runs": len(jobs),
            "velocity_minus_gradient": mismatch,
            "largest_rise_frozen": climb,
            "allowed_rise": allowed,
            "share_rising_unfrozen": float(np.mean(rises)),
            "tokens_unfrozen": len(rises),
        },
        data=shown,
    )


def descent_error(model: Attention, x: Array, k: int) -> float:
    """|dx_k/dt + grad E_k / Z_k|, the gradient by differences along a basis of the tangents."""
    basis = np.linalg.svd(x[k : k + 1])[2][1:]  # (d − 1, d), orthogonal to x_k
    s = STEP * np.array([1, -1, 2, -2, 3, -3, 4, -4])[:, None, None]
    moved = np.broadcast_to(x[: k + 1], (8, len(basis), k + 1, x.shape[1])).copy()
    moved[:, :, k] = np.cos(s) * x[k] + np.sin(s) * basis
    energy = theory.sequential_energies(moved, model.beta)[..., k]
    slope = np.array(_WEIGHTS) @ (energy[::2] - energy[1::2]) / STEP
    total = np.exp(model.beta * (x[: k + 1] @ x[k] - 1)).sum()  # Z_k
    velocity = basis @ model.velocity(x)[k]
    return float(np.linalg.norm(velocity + slope / total))


def rise(energy: Array) -> float:
    """The largest rise above an earlier value, in units of 1/β."""
    return float(np.max(energy - np.minimum.accumulate(energy)) * BETA)


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw a token's energy while the earlier ones rest, and while they move."""
    from parkade.plots import style

    for ax, name, color, title in zip(
        figure.subplots(1, 2, sharey=True),
        ("held", "free"),
        (style.BLUE, style.VERMILLION),
        ("earlier tokens frozen: it never rises", "earlier tokens free: it may rise"),
        strict=True,
    ):
        times, energy = evidence.data[name]
        ax.plot(times, energy, color=color, linewidth=1)
        ax.set(xscale="log", xlim=(1e-2, END), xlabel="time t", title=title)
        if name == "held":
            ax.set_ylabel(f"energy E$_{{{N}}}$ of the last token")


CLAIM = Claim(
    name="lemma-5.3",
    title="Token k descends its own energy E_k: a sequential gradient flow",
    paper=CAUSAL_CLUSTERING,
    status="lemma",
    prediction="dx_k/dt = −grad E_k / Z_k; no rise if elders rest",
    measure=measure,
    draw=draw,
)
