"""Equiangular tokens stay equiangular under full attention, and their overlap follows an ODE."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.simplex import overlap, simplex
from parkade.experiments.experiment import Figure, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate


class SimplexCase(NamedTuple):
    """Tokens n, dimension d, inverse temperature β and overlap ρ at the start."""

    n: int
    d: int
    beta: float
    rho: float


CASES = (
    SimplexCase(2, 2, 1.0, -0.9),
    SimplexCase(4, 4, 0.0, 0.0),
    SimplexCase(8, 8, 1.0, 0.0),
    SimplexCase(8, 11, 4.0, 0.0),
    SimplexCase(8, 8, 9.0, 0.5),
    SimplexCase(32, 32, 2.0, 0.0),
    SimplexCase(32, 40, 6.0, -0.02),
    SimplexCase(64, 64, 9.0, 0.1),
)
QUICK = 5
"""Number of cases that a quick experiment simulates."""

TOL = 1e-10
"""Error of a step of the simulation, an angle."""

ALLOWED = 1e-7
"""Allowed difference of an overlap: some hundreds of steps, each with an error of `TOL`."""

ROUNDING = 1e-13
"""Allowed error of the first slope dρ/dt, which needs no steps."""

RANDOM = {"n": 16, "beta": 4.0}
RANDOM_DIMENSIONS = (32, 512)
"""Uniform tokens are almost orthogonal in many dimensions: to be seen, not part of the verdict."""


def slope(rho: float, case: SimplexCase) -> float:
    """The claimed derivative dρ/dt of the overlap."""
    # Multiplied by e^{−βρ}, so that nothing overflows.
    n, beta = case.n, case.beta
    return 2 * (1 - rho) * ((n - 1) * rho + 1) / (math.exp(beta * (1 - rho)) + n - 1)


def predicted(case: SimplexCase, times: Array) -> Array:
    """The claimed overlap at some times, by SciPy."""
    from scipy.integrate import solve_ivp

    solution = solve_ivp(
        lambda _, rho: [slope(rho[0], case)], (0, times[-1]), [case.rho],
        method="DOP853", t_eval=times, rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    overlaps: Array = solution.y[0]
    return overlaps


def measure(setup: Setup) -> Evidence:
    """Simulate simplices and compare with the ODE."""
    cases = CASES[: setup.choose(QUICK, len(CASES))]
    worst = spread = start = 0.0
    curves: list[tuple[SimplexCase, Array, Array, Array]] = []
    for i, case in enumerate(cases):
        model = Attention(d=case.d, beta=case.beta, mask="full")
        x0 = simplex(case.n, case.rho, setup.generator(i), case.d)
        # ρ moves by d⟨x_1,x_2⟩/dt = ⟨v_1,x_2⟩ + ⟨x_1,v_2⟩.
        v = model.velocity(x0)
        start = max(start, abs(float(v[0] @ x0[1] + x0[0] @ v[1]) - slope(case.rho, case)))
        times = np.concatenate([[0.0], np.geomspace(0.01, end_of(case), 60)])
        measured = overlap(simulate(model, x0, times[-1], times=times, tol=TOL).tokens)
        claimed = predicted(case, times)
        worst = max(worst, float(np.abs(measured[:, 0] - claimed).max()))
        spread = max(spread, float(measured[:, 1].max()))
        curves.append((case, times, measured[:, 0], claimed))
        setup.report((i + 1) / (len(cases) + 1))
    clouds = random_tokens(setup)
    good = worst < ALLOWED and spread < ALLOWED and start < ROUNDING
    return Evidence(
        verdict="agrees" if good else "contradicts",
        measured=f"ρ(t) equal to {worst:.0e}, pairs to {spread:.0e}, ρ′(0) to {start:.0e}",
        false_alarm=0.0,  # it holds for every simplex
        numbers={
            "cases": [case._asdict() for case in cases],
            "largest_difference": worst,
            "largest_spread": spread,
            "slope_error": start,
            "allowed": ALLOWED,
            "random_tokens": {str(d): float(off) for d, (_, _, off) in clouds.items()},
        },
        data={"curves": curves, "clouds": clouds},
    )


def end_of(case: SimplexCase) -> float:
    """A time at which the tokens are almost one: e^{−2t} once they are close."""
    return 10.0 + 3 * float(np.exp(case.beta * (1 - case.rho)) / case.n)


def random_tokens(setup: Setup) -> dict[int, tuple[Array, Array, float]]:
    """For each dimension: times, overlaps of all pairs, and the largest difference to ρ(0) = 0."""
    n, beta = int(RANDOM["n"]), RANDOM["beta"]
    clouds = {}
    for d in RANDOM_DIMENSIONS:
        times = np.linspace(0, 10, 41)
        x0 = sphere.uniform(n, d, setup.generator(1000, d))
        x = simulate(Attention(d=d, beta=beta, mask="full"), x0, times[-1], times=times).tokens
        i, j = np.triu_indices(n, 1)
        pairs = (x @ np.swapaxes(x, -1, -2))[:, i, j]
        claimed = predicted(SimplexCase(n, d, beta, 0.0), times)
        clouds[d] = (times, pairs, float(np.abs(pairs - claimed[:, None]).max()))
    return clouds


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw overlaps over time: of simplices with the ODE, and of random tokens."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2, sharey=True)
    curves = evidence.data["curves"]
    for (case, times, measured, claimed), color in zip(
        curves, style.sequence(len(curves)), strict=True
    ):
        left.plot(times[1:], claimed[1:], color=color, linewidth=1)
        left.plot(
            times[1::3], measured[1::3], "o", color=color, markersize=2.5,
            label=f"n = {case.n}, β = {case.beta:g}",
        )  # fmt: skip
    left.set(xscale="log", xlabel="time t", ylabel="overlap ρ")
    left.set_title("simplices (dots) and the ODE (lines)")
    left.legend(loc="lower right", fontsize=6)
    n, beta = int(RANDOM["n"]), RANDOM["beta"]
    for (d, (times, pairs, _)), color in zip(
        evidence.data["clouds"].items(), (style.PALE, style.BLUE), strict=True
    ):
        lines = right.plot(times, pairs, color=color, linewidth=0.4)
        lines[0].set_label(f"all pairs, d = {d}")
    claimed = predicted(SimplexCase(n, n, beta, 0.0), times)
    right.plot(times, claimed, color=style.BLACK, linewidth=1.2, label="the ODE with ρ(0) = 0")
    right.set(xlabel="time t")
    right.set_title(f"uniform tokens, n = {n}, β = {beta:g}")
    right.legend(loc="lower right")


CLAIM = Claim(
    name="equiangular",
    title="Full attention: tokens with one overlap ρ keep one, which obeys an ODE",
    paper="2312.10794",
    status="theorem",
    prediction=f"ρ(t) solves the ODE, to {ALLOWED:.0e}; all pairs equal",
    measure=measure,
    draw=draw,
)
