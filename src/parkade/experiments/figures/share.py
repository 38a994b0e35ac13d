"""How many tokens a centre captures in a given time, as the number of tokens grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parkade.base.files import atomic_write
from parkade.base.progress import Report
from parkade.base.types import Array
from parkade.experiments.claims.census import BETA
from parkade.experiments.claims.statistics import Mean, mean
from parkade.experiments.figures.item import Item, Job, Made
from parkade.model.attention import Attention
from parkade.sweeps.ensemble import ensemble
from parkade.theory.paper import DELTA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
TIMES = np.array([0, 2, 3, 4, 6, 8, 10, 12, 15, 18, 20, 22, 25, 28, 30, 35, 40, 45, 50.0])
SHOWN = (3.0, 6.0, 10.0, 15.0, 20.0, 30.0, 50.0)
RADIUS = 0.02 / math.sqrt(BETA)
"""A token this close to a centre is captured; at the start, 0.08% of the tokens are."""

TOL = 1e-5  # far below the radius


def make(job: Job) -> Made:
    """Run ensembles of ever more tokens and draw what the strong centres have captured."""
    from parkade import plots
    from parkade.plots import style

    sizes, tokens, least = job.choose((SIZES[:5], 20_000, 2), (SIZES, 400_000, 12))
    captured: dict[int, Array] = {}  # per strong centre since the start, (runs, times)
    shares: dict[int, Array] = {}  # by all of them together
    for i, n in enumerate(sizes):
        data = ensemble(
            Attention(d=2, beta=BETA), n=n, runs=min(200, max(least, tokens // n)), t_end=TIMES[-1],
            seed=job.seed, times=TIMES, measure=("consumption", "centers"), delta=DELTA,
            radius=RADIUS, tol=TOL, report=_part(job, i, len(sizes)),
        )  # fmt: skip
        strong = data.sel(kind="strong").transpose("run", "time", ...)
        shares[n] = strong["consumed"].values
        # One centre at least, the first token, is always there.
        number = n * shares[n] / strong["centers"].values[:, None]
        captured[n] = number - number[:, :1]
    laws = {t: _fit(captured, i) for i, t in enumerate(TIMES) if t in SHOWN}
    figure = plots.new_figure(style.PAGE, 3.0)
    with style.context():
        left, right = figure.subplots(1, 2)
        _draw_numbers(captured, laws, left)
        _draw_shares(shares, right)
    caption = (
        "Left: tokens captured by a strong Rényi centre since t = 0, mean over centres and runs "
        "with standard error, against the number n of tokens; a is the fitted exponent of n. "
        "Right: the share of all tokens that all strong centres have captured. "
        f"d = 2, K = Q = V = I, β = {BETA:g}, δ = 4β^(-1/2); captured: within β^(-1/2)/50 of a "
        "centre's present place."
    )
    table = _table(captured)
    path = job.output / "share.csv"
    with atomic_write(path) as file:
        file.write("".join(",".join(row) + "\n" for row in table).encode())
    exponents = ", ".join(
        f"{law.value:.2f} ± {law.error:.1g} at t = {t:g}" for t, law in laws.items()
    )
    return Made(
        parameters={
            "d": "2", "n": f"{sizes[0]} … {sizes[-1]}", "β": f"{BETA:g}", "δ": "4β^(-1/2)",
            "Q = K = V": "I", "radius": f"{RADIUS:g}", "T": f"{TIMES[-1]:g}", "seed": f"{job.seed}",
        },
        measured=(
            "At each of these times a strong centre has captured more tokens, the more there are; "
            f"the fitted power of n is {exponents} (standard errors). Power 1 is a constant share."
        ),
        pictures=[job.save(figure, "share", caption)],
        tables=[table],
        files=[path],
        numbers={"exponents": {f"{t:g}": [law.value, law.error] for t, law in laws.items()}},
    )  # fmt: skip


def _part(job: Job, i: int, count: int) -> Report:
    """Report the progress of the i-th of several parts."""
    return lambda done: job.report((i + done) / count)


def _fit(captured: dict[int, Array], i: int) -> Mean:
    """The exponent a of mean number ∝ n^a at time i, by weighted least squares of logarithms."""
    found = {n: mean(numbers[:, i]) for n, numbers in captured.items()}
    used = {n: m for n, m in found.items() if m.value > 2 * m.error > 0}
    log_n, log_mean = (np.log(v) for v in (list(used), [m.value for m in used.values()]))
    weight = np.array([(m.value / m.error) ** 2 for m in used.values()])
    centre = np.average(log_n, weights=weight)
    spread = float(np.sum(weight * (log_n - centre) ** 2))
    slope = float(np.sum(weight * (log_n - centre) * log_mean)) / spread
    return Mean(slope, 1 / math.sqrt(spread))


def _draw_numbers(captured: dict[int, Array], laws: dict[float, Mean], ax: Axes) -> None:
    """Numbers of captured tokens against n, at some times."""
    from parkade.plots import style

    sizes = list(captured)
    for t, color in zip(SHOWN, style.sequence(len(SHOWN)), strict=True):
        i = int(np.flatnonzero(t == TIMES)[0])
        found = [mean(captured[n][:, i]) for n in sizes]
        ax.errorbar(
            sizes, [m.value for m in found], [m.error for m in found], color=color, marker="o",
            markersize=3, linewidth=1, zorder=2, label=f"t = {t:g}: a = {laws[t].value:.2f}",
        )  # fmt: skip
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="tokens n",
        ylabel="captured per strong centre",
        ylim=(0.1, None),
    )
    ax.legend(loc="upper left", fontsize="small")


def _draw_shares(shares: dict[int, Array], ax: Axes) -> None:
    """The share captured against time, for each n."""
    from parkade.plots import style

    for n, color in zip(shares, style.sequence(len(shares)), strict=True):
        ax.plot(TIMES, 100 * shares[n].mean(axis=0), color=color, linewidth=1.5, label=f"n = {n}")
    ax.set(xlabel="time t", ylabel="captured by strong centres (%)", ylim=(0, 100))
    ax.set_xlim(0, TIMES[-1])
    ax.legend(loc="lower right", fontsize="small")


def _table(captured: dict[int, Array]) -> list[list[str]]:
    """Mean numbers of captured tokens per strong centre, and their standard errors."""
    rows = [["n", "runs", *(f"t = {t:g}" for t in SHOWN)]]
    for n, numbers in captured.items():
        found = [mean(numbers[:, i]) for i, t in enumerate(TIMES) if t in SHOWN]
        rows.append([f"{n}", f"{len(numbers)}", *(_text(m) for m in found)])
    return rows


def _text(found: Mean) -> str:
    return f"{found.value:.4g} ± {found.error:.2g}"


ITEM = Item(
    name="share",
    title="Beyond the paper: what a centre captures as n grows",
    statement=(
        "Open (section 6): does a centre capture a number of tokens that grows with n, in a time "
        "that does not?"
    ),
    make=make,
)
