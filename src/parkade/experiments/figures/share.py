"""The number of tokens that a centre captures in a fixed time, as the number of tokens grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claims.common.census import BETA
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import OURS, Figure, Finding, Setup
from parkade.experiments.output import Table
from parkade.experiments.statistics import Mean, fit_line, mean
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


def measure(setup: Setup) -> Finding:
    """Run ensembles with more and more tokens; count what the strong centres have captured."""
    sizes, tokens, least = setup.choose((SIZES[:5], 20_000, 2), (SIZES, 400_000, 12))
    captured: dict[int, Array] = {}  # per strong centre since the start, (runs, times)
    shares: dict[int, Array] = {}  # by all of them together
    for i, n in enumerate(sizes):
        data = ensemble(
            Attention(d=2, beta=BETA), n=n, runs=min(200, max(least, tokens // n)), t_end=TIMES[-1],
            seed=setup.seed, times=TIMES, measure=("consumption", "centers"), delta=DELTA,
            radius=RADIUS, tol=TOL, report=setup.part(i, len(sizes)).report,
        )  # fmt: skip
        strong = data.sel(kind="strong").transpose("run", "time", ...)
        shares[n] = strong["consumed"].values
        # There is always at least one centre, the first token.
        number = n * shares[n] / strong["centers"].values[:, None]
        captured[n] = number - number[:, :1]
    laws = {t: _fit(captured, i) for i, t in enumerate(TIMES) if t in SHOWN}
    exponents = ", ".join(f"{law.text('.2f', '.1g')} at t = {t:g}" for t, law in laws.items())
    return Finding(
        measured=(
            "At each of these times a strong centre has captured more tokens, the more there are; "
            f"the fitted power of n is {exponents} (standard errors). Power 1 is a constant share."
        ),
        numbers={"exponents": {f"{t:g}": [law.value, law.error] for t, law in laws.items()}},
        data={"captured": captured, "shares": shares, "laws": laws},
        parameters={
            "d": "2", "n": f"{sizes[0]} … {sizes[-1]}", "β": f"{BETA:g}", "δ": "4β^(-1/2)",
            "Q = K = V": "I", "radius": f"{RADIUS:g}", "T": f"{TIMES[-1]:g}",
            "seed": f"{setup.seed}",
        },
        caption=(
            "Left: tokens captured by a strong Rényi centre since t = 0, mean over centres and "
            "runs with standard error, against the number n of tokens; a is the fitted exponent "
            "of n. Right: the share of all tokens that all strong centres have captured. "
            f"d = 2, K = Q = V = I, β = {BETA:g}, δ = 4β^(-1/2); captured: within β^(-1/2)/50 of "
            "a centre's present place."
        ),
        tables=[Table(_rows(captured), "share.csv")],
    )  # fmt: skip


def _fit(captured: dict[int, Array], i: int) -> Mean:
    """The exponent a of mean number ∝ n^a at time i, by weighted least squares of logarithms."""
    means = {n: mean(numbers[:, i]) for n, numbers in captured.items()}
    used = {n: m for n, m in means.items() if m.value > 2 * m.error > 0}
    log_n, log_mean = (np.log(v) for v in (list(used), [m.value for m in used.values()]))
    weight = np.array([(m.value / m.error) ** 2 for m in used.values()])
    line = fit_line(log_n, log_mean, weight)
    return Mean(line.slope, line.error)


def draw(finding: Finding, figure: Figure) -> None:
    """Draw the captured numbers against n, and the shares against time."""
    left, right = figure.subplots(1, 2)
    _draw_numbers(finding.data["captured"], finding.data["laws"], left)
    _draw_shares(finding.data["shares"], right)


def _draw_numbers(captured: dict[int, Array], laws: dict[float, Mean], ax: Axes) -> None:
    """Numbers of captured tokens against n, at some times."""
    from parkade.plots import style

    sizes = list(captured)
    for t, color in zip(SHOWN, style.sequence(len(SHOWN)), strict=True):
        i = int(np.flatnonzero(t == TIMES)[0])
        means = [mean(captured[n][:, i]) for n in sizes]
        ax.errorbar(
            sizes, [m.value for m in means], [m.error for m in means], color=color, marker="o",
            markersize=3, linewidth=1, zorder=2, label=f"t = {t:g}: a = {laws[t].value:.2f}",
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", ylim=(0.1, None))
    ax.set(xlabel="tokens n", ylabel="captured per strong centre")
    ax.legend(loc="upper left", fontsize="small")


def _draw_shares(shares: dict[int, Array], ax: Axes) -> None:
    """The share captured against time, for each n."""
    from parkade.plots import style

    for n, color in zip(shares, style.sequence(len(shares)), strict=True):
        ax.plot(TIMES, 100 * shares[n].mean(axis=0), color=color, linewidth=1.5, label=f"n = {n}")
    ax.set(xlabel="time t", ylabel="captured by strong centres (%)", ylim=(0, 100))
    ax.set_xlim(0, TIMES[-1])
    ax.legend(loc="lower right", fontsize="small")


def _rows(captured: dict[int, Array]) -> list[list[str]]:
    """Mean numbers of captured tokens per strong centre, and their standard errors."""
    rows = [["n", "runs", *(f"t = {t:g}" for t in SHOWN)]]
    for n, numbers in captured.items():
        means = [mean(numbers[:, i]) for i, t in enumerate(TIMES) if t in SHOWN]
        rows.append([f"{n}", f"{len(numbers)}", *(m.text(".4g", ".2g") for m in means)])
    return rows


EXHIBIT = Exhibit(
    name="share",
    title="Beyond the paper: what a centre captures as n grows",
    paper=OURS,
    statement=(
        "Open (section 6): does a centre capture a number of tokens that grows with n, in a time "
        "that does not?"
    ),
    measure=measure,
    draw=draw,
    height=3.0,
)
