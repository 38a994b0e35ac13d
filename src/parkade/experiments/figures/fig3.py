"""Figure 3: the share of tokens that centres have consumed, against time."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade import theory
from parkade.experiments.claims.common.census import BETA, END, RADIUS, N
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Figure, Finding, Setup
from parkade.experiments.output import Table
from parkade.experiments.statistics import Mean, mean
from parkade.model.attention import Attention
from parkade.sweeps.ensemble import ensemble
from parkade.theory.paper import DELTA

RUNS = 5000
TOL = 1e-5  # far below the radius
TIMES = np.concatenate([[0.0], np.geomspace(0.1, END, 60)])
SHOWN = (1.0, 5.0, 20.0, 75.0, 150.0)
KINDS = {"renyi": "Rényi centres", "strong": "strong Rényi centres"}
# For finitely many tokens no formula for Rényi centres is known.
SURE = {"renyi": " for n → ∞", "strong": ""}


def measure(setup: Setup) -> Finding:
    """Run the ensemble. Its store stays beside the figure, so that it can be continued."""
    runs = setup.runs or setup.choose(400, RUNS)
    store = f"fig3-{runs}-runs-seed-{setup.seed}"
    data = ensemble(
        Attention(d=2, beta=BETA), n=N, runs=runs, t_end=END, seed=setup.seed, times=TIMES,
        measure=("consumption", "centers"), delta=DELTA, radius=RADIUS, tol=TOL,
        store=None if setup.folder is None else setup.folder / store, report=setup.report,
    )  # fmt: skip
    consumed = 100 * data["consumed"].transpose("kind", "run", "time")
    counts = {kind: mean(data["centers"].sel(kind=kind)) for kind in KINDS}
    expected = {
        "renyi": theory.expected_renyi_centers(DELTA),
        "strong": theory.expected_strong_centers(DELTA, 2, N),
    }
    return Finding(
        measured=" ".join(
            f"{KINDS[kind][0].upper()}{KINDS[kind][1:]}: {_text(counts[kind])} "
            f"({float(expected[kind]):.3f} expected{SURE[kind]}); consumed at t = {END:g}: "
            f"{_text(mean(consumed.sel(kind=kind).isel(time=-1)))} %."
            for kind in KINDS
        ),
        numbers={
            kind: {"centers": list(counts[kind]), "expected": float(expected[kind])}
            for kind in KINDS
        },
        data={"consumed": consumed},
        parameters={
            "d": "2", "n": f"{N}", "β": f"{BETA:g}", "δ": "4β^(-1/2)", "Q = K = V": "I",
            "runs": f"{runs}", "radius": f"{RADIUS:g}", "T": f"{END:g}", "seed": f"{setup.seed}",
        },
        caption=(
            "Share of tokens consumed by Rényi centres (black) and strong Rényi centres (red): "
            f"mean and 10th to 90th percentile of {runs} runs. n = {N}, d = 2, K = Q = V = I, "
            f"β = {BETA:g}, δ = 4β^(-1/2). Consumed: within {RADIUS:g} rad = β^(-1/2)/2 of a "
            "centre's present place."
        ),
        tables=[Table(_rows(consumed), "fig3.csv")],
    )  # fmt: skip


def draw(finding: Finding, figure: Figure) -> None:
    """Draw the mean and the percentiles of the shares in per cent, (kind, run, time)."""
    from parkade.plots import style

    ax = figure.subplots()
    for kind, color in zip(KINDS, (style.BLACK, style.VERMILLION), strict=True):
        share = finding.data["consumed"].sel(kind=kind)
        low, high = np.percentile(share, [10, 90], axis=0)
        ax.fill_between(TIMES, low, high, color=color, alpha=0.15, linewidth=0)
        ax.plot(TIMES, share.mean("run"), color=color, linewidth=1.5, label=KINDS[kind])
    ax.set(xlim=(0, END), ylim=(0, 100), xlabel="time t", ylabel="tokens consumed (%)")
    ax.set_xscale("symlog", linthresh=1.0)
    ticks = [0, 1, 10, 100]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.legend(loc="lower right")


def _rows(consumed: Any) -> list[list[str]]:
    """Mean, standard error and percentiles in per cent at some times."""
    rows = [["t", "centres", "mean", "standard error", "10th", "90th percentile"]]
    for t in SHOWN:
        for kind, name in KINDS.items():
            at = int(np.argmin(np.abs(t - TIMES)))
            share = consumed.sel(kind=kind).isel(time=at)
            average = mean(share)
            low, high = np.percentile(share, [10, 90])
            rows.append(
                [
                    f"{TIMES[at]:.3g}", name, f"{average.value:.2f}", f"{average.error:.2f}",
                    f"{low:.1f}", f"{high:.1f}",
                ]
            )  # fmt: skip
    return rows


def _text(average: Mean) -> str:
    return average.text(".3f", ".3f")


EXHIBIT = Exhibit(
    name="fig3",
    title="Figure 3: tokens consumed by centres",
    paper=CAUSAL_CLUSTERING,
    statement=(
        "Strong Rényi centres consume most tokens, and Rényi centres nearly all (5000 runs; mean, "
        "10th and 90th percentile)."
    ),
    measure=measure,
    draw=draw,
    height=3.0,
)
