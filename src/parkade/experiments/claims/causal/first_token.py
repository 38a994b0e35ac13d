"""Lemma 3.1: the first token follows e^{tV}x/|e^{tV}x|, and how fast it approaches its limit."""

from __future__ import annotations

import numpy as np

from parkade import theory
from parkade.base.errors import doubts_do_not_matter
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.common.ends import orthonormal
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Setup
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

D, TOKENS, TOL = 4, 3, 1e-9

SPECTRA = {
    "Gaussian": 30.0,
    "symmetric": 1e3,
    "complex pair": 1e2,
    "Jordan block of 2": 1e4,
    "Jordan block of 3": 1e3,
}
"""Sorts of V, and the final time: then the limit is reached, or rounding of V would matter."""

JORDAN = ("Jordan block of 2", "Jordan block of 3")

SLACK = 0.05
"""Allowed distance from −1 of the fitted slopes of log distance against t·gap or log t."""


def random_case(kind: str, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """A random V of this sort, tokens, and the gap below the leading eigenvalue."""
    basis, core = orthonormal(D, rng), np.diag([1, 0, *rng.uniform(-1, 0, D - 2)])
    gap = rng.uniform(0.4, 0.8)
    core[1, 1] = 1 - gap
    decisive = [0, 1]
    if kind == "complex pair":
        core[:2, :2] = [[1, -2], [2, 1]]
    elif kind.startswith("Jordan"):
        size = int(kind[-1])
        core[:size, :size] = np.eye(size) + np.eye(size, k=1)
        decisive = [size - 1]
    V = basis @ core @ basis.T if kind != "Gaussian" else rng.standard_normal((D, D))
    while True:
        start = sphere.uniform(TOKENS, D, rng)
        # With smaller components in the decisive directions, the rates would appear later.
        if np.abs(start[0] @ basis[:, decisive]).min() > 0.3:
            return V, start, gap


def measure(setup: Setup) -> Evidence:
    """Compare simulated first tokens with the formula, and fit the rates."""
    samples = setup.choose(5, 30)
    worst = 0.0
    ratio = dict.fromkeys(SPECTRA, 0.0)
    slopes: dict[str, list[float]] = {"symmetric": [], **{kind: [] for kind in JORDAN}}
    curves: dict[str, tuple[Array, Array]] = {}
    for i, (kind, t_end) in enumerate(SPECTRA.items()):
        rng = setup.generator(i)
        times = np.geomspace(0.1, t_end, 100)
        for _ in setup.part(i, len(SPECTRA)).each(range(samples)):
            V, start, gap = random_case(kind, rng)
            with doubts_do_not_matter():  # rounding may exceed TOL, within the bound below
                run = simulate(Attention(V=V, beta=4), start, t_end, times=times, tol=TOL)
            exact = theory.first_token(V, start[0], times)
            error = float(sphere.distance(run.tokens[:, 0], exact).max())
            worst = max(worst, error)
            # Each step has an error of at most TOL, and the limit attracts, so errors do not grow.
            ratio[kind] = max(ratio[kind], error / (TOL * run.stats.steps))
            if kind in slopes:
                with doubts_do_not_matter():  # that of an exact block is wanted
                    limit = theory.first_token(V, start[0], [1e12])[0]
                off = sphere.distance(run.tokens[:, 0], limit)
                curves.setdefault(kind, (times * (gap if kind == "symmetric" else 1), off))
                late = times >= t_end / 10
                clock = np.log(times)
                if kind == "symmetric":
                    late, clock = (off < 1e-2) & (off > 1e-7), gap * times
                if late.sum() < 2:  # it does not come close
                    late = np.ones_like(late)
                slopes[kind].append(float(np.polyfit(clock[late], np.log(off[late]), 1)[0]))
    steep = [s for values in slopes.values() for s in values]
    right = max(ratio.values()) <= 1 and max(abs(s + 1) for s in steep) < SLACK
    return Evidence(
        verdict="agrees" if right else "contradicts",
        measured=f"error {worst:.0e}; rates {min(steep):.3f} … {max(steep):.3f}",
        false_alarm=0.0,
        numbers={
            "samples of each kind": samples,
            "worst error": worst,
            "tol": TOL,
            "largest error over tol times steps": ratio,
            "rates": slopes,
        },
        data={"curves": curves},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the distance to the limit against time."""
    from parkade.plots import style

    left, right = figure.subplots(1, 2)
    curves = evidence.data["curves"]
    t, off = curves["symmetric"]
    seen = off > 1e-10
    left.semilogy(t[seen], off[seen], "o", color=style.BLUE, markersize=3, label="simulated")
    at = int(np.flatnonzero(off < 1e-2)[0])
    left.semilogy(t[seen], off[at] * np.exp(t[at] - t[seen]), color=style.BLACK, linewidth=0.8,
                  label="slope −gap")  # fmt: skip
    left.set(xlabel="t · gap", ylabel="distance of x₁ from its limit")
    left.set_title("Symmetric V: exponentially")
    left.legend()
    for kind, color in zip(JORDAN, (style.VERMILLION, style.GREEN), strict=True):
        t, off = curves[kind]
        right.loglog(t, off, "o", color=color, markersize=2.5, label=kind)
        right.loglog(t, off[-1] * t[-1] / t, color=style.BLACK, linewidth=0.8,
                     label="slope −1" if kind == JORDAN[-1] else None)  # fmt: skip
    right.set(xlabel="t", ylim=(3e-5, 30))
    right.set_title("V with a leading Jordan block: like 1/t")
    right.legend()


CLAIM = Claim(
    name="lemma-3.1",
    title="The first token follows exp(tV)x/|exp(tV)x|, and nears its limit at the stated rate",
    paper=CAUSAL_CLUSTERING,
    status="lemma",
    prediction=f"error below {TOL:.0e} a step; rates −1 (of gap, or power)",
    measure=measure,
    draw=draw,
)
