"""Figure 3: the share of tokens that centres have consumed, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parkade import theory
from parkade.base.files import atomic_write
from parkade.experiments.claims.census import BETA, END, RADIUS, N
from parkade.experiments.claims.statistics import Mean, mean
from parkade.experiments.figures.item import Item, Job, Made
from parkade.model.attention import Attention
from parkade.sweeps.ensemble import ensemble
from parkade.theory.paper import DELTA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUNS = 5000
TIMES = np.concatenate([[0.0], np.geomspace(0.1, END, 60)])
SHOWN = (1.0, 5.0, 20.0, 75.0, 150.0)
KINDS = {"renyi": "Rényi centres", "strong": "strong Rényi centres"}
SURE = {"renyi": " for n → ∞", "strong": ""}  # for n tokens no formula is known


def make(job: Job) -> Made:
    """Run the ensemble, whose store stays beside the figure, and draw it."""
    from parkade import plots
    from parkade.plots import style

    runs = job.runs or job.choose(400, RUNS)
    data = ensemble(
        Attention(d=2, beta=BETA), n=N, runs=runs, t_end=END, seed=job.seed, times=TIMES,
        measure=("consumption", "centers"), delta=DELTA, radius=RADIUS,
        store=job.output / f"fig3-{runs}-runs-seed-{job.seed}", report=job.report,
    )  # fmt: skip
    consumed = 100 * data["consumed"].transpose("kind", "run", "time")
    counts = {kind: mean(data["centers"].sel(kind=kind)) for kind in KINDS}
    figure = plots.new_figure(style.PAGE, 3.0)
    with style.context():
        draw(consumed, figure.subplots())
    caption = (
        "Share of tokens consumed by Rényi centres (black) and strong Rényi centres (red): mean "
        f"and 10th to 90th percentile of {runs} runs. n = {N}, d = 2, K = Q = V = I, β = {BETA:g}, "
        f"δ = 4β^(-1/2). Consumed: within {RADIUS:g} rad = β^(-1/2)/2 of a centre's present place."
    )
    table = _table(consumed)
    path = job.output / "fig3.csv"
    with atomic_write(path) as file:
        file.write("".join(",".join(row) + "\n" for row in table).encode())
    expected = {
        "renyi": theory.expected_renyi_centers(DELTA),
        "strong": theory.expected_strong_centers(DELTA, 2, N),
    }
    return Made(
        parameters={
            "d": "2", "n": f"{N}", "β": f"{BETA:g}", "δ": "4β^(-1/2)", "Q = K = V": "I",
            "runs": f"{runs}", "radius": f"{RADIUS:g}", "T": f"{END:g}", "seed": f"{job.seed}",
        },
        measured=" ".join(
            f"{KINDS[kind][0].upper()}{KINDS[kind][1:]}: {_text(counts[kind])} "
            f"({float(expected[kind]):.3f} expected{SURE[kind]}); consumed at t = {END:g}: "
            f"{_text(mean(consumed.sel(kind=kind).isel(time=-1)))} %."
            for kind in KINDS
        ),
        pictures=[job.save(figure, "fig3", caption)],
        tables=[table],
        files=[path],
        numbers={
            kind: {"centers": list(counts[kind]), "expected": float(expected[kind])}
            for kind in KINDS
        },
    )  # fmt: skip


def draw(consumed: Any, ax: Axes) -> None:
    """Draw the mean and the percentiles of shares in per cent, (kind, run, time)."""
    from parkade.plots import style

    for kind, color in zip(KINDS, (style.BLACK, style.VERMILLION), strict=True):
        share = consumed.sel(kind=kind)
        low, high = np.percentile(share, [10, 90], axis=0)
        ax.fill_between(TIMES, low, high, color=color, alpha=0.15, linewidth=0)
        ax.plot(TIMES, share.mean("run"), color=color, linewidth=1.5, label=KINDS[kind])
    ax.set(xlim=(0, END), ylim=(0, 100), xlabel="time t", ylabel="tokens consumed (%)")
    ax.set_xscale("symlog", linthresh=1.0)
    ticks = [0, 1, 10, 100]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.legend(loc="lower right")


def _table(consumed: Any) -> list[list[str]]:
    """Mean, standard error and percentiles in per cent at some times."""
    rows = [["t", "centres", "mean", "standard error", "10th", "90th percentile"]]
    for t in SHOWN:
        for kind, name in KINDS.items():
            at = int(np.argmin(np.abs(t - TIMES)))
            share = consumed.sel(kind=kind).isel(time=at)
            found = mean(share)
            low, high = np.percentile(share, [10, 90])
            rows.append(
                [
                    f"{TIMES[at]:.3g}", name, f"{found.value:.2f}", f"{found.error:.2f}",
                    f"{low:.1f}", f"{high:.1f}",
                ]
            )  # fmt: skip
    return rows


def _text(found: Mean) -> str:
    return f"{found.value:.3f} ± {found.error:.3f}"


ITEM = Item(
    name="fig3",
    title="Figure 3: tokens consumed by centres",
    statement=(
        "Strong Rényi centres consume most tokens, and Rényi centres nearly all (5000 runs; mean, "
        "10th and 90th percentile)."
    ),
    make=make,
)
