"""Lemma 5.3: each token descends its own energy, which depends on the tokens before it."""

from __future__ import annotations

import numpy as np

from parkade import theory
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.gradients import gradient
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

DIMENSIONS = {2: True, 3: True, 5: False}
"""The circle, as in the lemma, and spheres, on which the same holds; and whether to simulate."""

BETA, N = 16.0, 12

STEP = 0.05 / BETA**0.5
"""Step of the differences, whose error is (STEP·√β)⁸/630 ≈ 6e-14 in units of the energy."""

ROUNDING = 1e-10
"""Allowed error of velocities, which are below 1: 1000 times the error of the differences."""

TOL, END = 1e-9, 1e4

CLIMB = 1e-3
"""A rise by this share of 1/β, the energy of a token at an earlier one, counts as a rise."""


def measure(setup: Setup) -> Evidence:
    """Compare velocities with gradients, then follow energies along the flow."""
    tries = setup.choose(10, 50)
    mismatch, climb = 0.0, 0.0
    rises: list[bool] = []
    shown: dict[str, tuple[Array, Array]] = {}
    clearest = 0.0
    cases = [(d, k) for d in DIMENSIONS for k in range(tries)]
    for d, k in setup.each(cases):
        model = Attention(d=d, beta=BETA)
        x = sphere.uniform(N, d, setup.generator(d, k))
        mismatch = max(mismatch, *(descent_error(model, x, j) for j in range(1, N)))
        if not DIMENSIONS[d]:
            continue
        # The last token, first with the others frozen, then with all of them free.
        alone = simulate(model, x[-1:], END, frozen=x[:-1], tol=TOL)
        held = theory.sequential_energies(alone.tokens, BETA, frozen=x[:-1])[:, 0]
        climb = max(climb, rise(held))
        together = simulate(model, x, END, tol=TOL)
        free = theory.sequential_energies(together.tokens, BETA)
        # E_2 depends on the first token only, which rests.
        rises += [rise(e) > CLIMB for e in free[:, 2:].T]
        clear = min(rise(free[:, -1]), rise(-held))
        if d == 2 and clear > clearest:
            clearest = clear
            shown = {"held": (alone.times, held), "free": (together.times, free[:, -1])}
    # The effect on the energy of an error of TOL in the position of the token.
    allowed = BETA * (N - 1) * theory.lemmas.h_max(BETA).value * TOL
    good = mismatch < ROUNDING and climb < allowed
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"equal to {mismatch:.0e}, rise {climb:.0e}; unfrozen {np.mean(rises):.0%} rise",
        false_alarm=0.0,  # the lemma holds for every start
        numbers={
            "runs": len(cases),
            "velocity_minus_gradient": mismatch,
            "largest_rise_frozen": climb,
            "allowed_rise": allowed,
            "share_rising_unfrozen": float(np.mean(rises)),
            "tokens_unfrozen": len(rises),
        },
        data=shown,
    )


def descent_error(model: Attention, x: Array, k: int) -> float:
    """|dx_k/dt + grad E_k / Z_k|, with the gradient from differences along tangent vectors."""

    def energy(tokens: Array) -> Array:
        return theory.sequential_energies(tokens, model.beta)[..., k]

    basis, slope = gradient(energy, x[: k + 1], k, STEP)
    total = np.exp(model.beta * (x[: k + 1] @ x[k] - 1)).sum()  # Z_k
    velocity = basis @ model.velocity(x)[k]
    return float(np.linalg.norm(velocity + slope / total))


def rise(energy: Array) -> float:
    """The largest rise above an earlier value, in units of 1/β."""
    return float(np.max(energy - np.minimum.accumulate(energy)) * BETA)


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the energy of a token while the earlier ones rest, and while they move."""
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
    prediction="dx_k/dt = −grad E_k / Z_k; no rise if earlier ones rest",
    measure=measure,
    draw=draw,
)
