"""What certificates prove of random starts: how often, how closely, and that runs agree with them.

A certificate needs no test: what its check accepts is proved. Tested is that the method works, from
random starts: that 90% are proved to t = 10⁶⁰, and that no run contradicts one. (The bar is for the
mean over the starts here, whose probabilities differ with n and β; a binomial tail bounds that
of their sum: W. Hoeffding, Ann. Math. Statist. 27, 713, 1956.) With a folder the certificates are
stored there, and a run that was interrupted goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

import numpy as np

from parkade.base.errors import ParkadeError
from parkade.base.files import directory
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import proofs
from parkade.experiments.claims.common.proof_numbers import (
    Row,
    is_whole,
    lemma_rows,
    promised,
    summary,
    widths,
    with_beta,
)
from parkade.experiments.claims.common.proofs import Start
from parkade.experiments.experiment import OURS, Figure, Setup
from parkade.experiments.output import Table
from parkade.experiments.statistics import LEVEL
from parkade.proof.needed import flint
from parkade.sweeps.workers import pool_of

BETAS = (16.0, 32.0, 64.0, 128.0)

FEW = {12: 1}
MANY = {20: 18, 50: 5, 100: 1, 200: 1}
"""Numbers of starts for each n and each β: few of many tokens, which take minutes each."""

BAR = 0.9
"""The required share of starts that are proved to the end."""

PROCESSES = 2


def measure(setup: Setup) -> Evidence:
    """Prove all starts, and judge."""
    try:
        flint()
    except ParkadeError:
        needs = "needs python-flint: pip install 'parkade[proof]'"
        return Evidence(verdict="undecided", measured=needs, false_alarm=0.0)
    rows = examine(setup)
    whole = [row for row in rows if is_whole(row)]
    numbers = summary(rows)
    return Evidence(
        verdict=judge(rows),
        measured=(
            f"{len(whole)}/{len(rows)} to the end; {numbers['merges']['outside']} of "
            f"{numbers['merges']['proved']} merges outside"
        ),
        false_alarm=LEVEL,
        numbers=numbers,
        data={"rows": rows},
        tables=[Table(lemma_rows(rows), "certified-lemma.csv")],
    )


def examine(setup: Setup) -> list[Row]:
    """What is measured of each start: in this process if they are few, otherwise in two others."""
    starts = [
        Start(n, beta, i, setup.seed)
        for n, count in setup.choose(FEW, MANY).items()
        for i in range(count)
        for beta in BETAS
    ]
    folder = None if setup.folder is None else directory(setup.folder / "certificates")
    if setup.quick:
        return [proofs.examine(start, folder) for start in setup.each(starts)]
    return _in_processes(starts, folder, setup)


def _in_processes(starts: Sequence[Start], folder: Path | None, setup: Setup) -> list[Row]:
    """The same on processes, which end when this one is cancelled or interrupted."""
    with pool_of("processes", PROCESSES) as submit:
        futures = [submit(proofs.examine, start, folder) for start in starts]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()  # raises what the process raised
            setup.report(1 - len(waiting) / len(starts))
    return [future.result() for future in futures]


def judge(rows: Sequence[Row]) -> Judgement:
    """The verdict: no check refuses, no run contradicts, and enough starts are proved to the end.

    The last contradicts if so few have a probability of at most `LEVEL` at the bar.
    """
    from scipy.stats import binom

    if any(row["refused"] or row["outside"] for row in rows):
        return "contradicts"
    whole = sum(map(is_whole, rows))
    if binom.cdf(whole, len(rows), BAR) <= LEVEL:
        return "contradicts"
    return "agrees" if whole >= BAR * len(rows) else "undecided"


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the widths of the bounds, and Lemma 5.1 beside what is proved."""
    from parkade.plots import style

    rows = [row for row in evidence.data.get("rows", []) if not row["refused"]]
    left, right = figure.subplots(1, 2)
    colors = dict(zip(BETAS, (style.GREEN, style.BLUE, style.VERMILLION, style.BLACK), strict=True))
    for beta, color in colors.items():
        some = with_beta(beta, rows)
        merges = [merge for row in some for merge in row["merges"]]
        dots: dict[str, Any] = {"s": 8, "facecolors": "none", "edgecolors": color}
        dots |= {"linewidths": 0.6, "label": f"β = {beta:g}", "rasterized": True}
        left.scatter([one["bounds"][1] for one in merges], widths(merges), **dots)
        stays = np.array(promised("usual", some)).reshape(-1, 4).T
        right.scatter(stays[2], stays[3], **dots)
    left.set(xscale="log", yscale="log", xlabel="time of the merge")
    left.set(ylabel="ln(latest/earliest), proved", ylim=(1e-12, 2))
    left.legend(loc="lower left")
    end = math.log(proofs.END)
    right.plot([0, end], [0, end], color=style.GREY, linewidth=0.8, zorder=0)
    right.set(xlabel="ln T, Lemma 5.1 (ε = 0.1)", ylabel="ln T, proved for the same radius")


CLAIM = Claim(
    name="certified",
    title="Whole lives of clusters are proved, start by start",
    paper=OURS,
    status="observed",
    prediction="≥ 90% proved to t = 10⁶⁰; every merge in its bounds",
    measure=measure,
    draw=draw,
)
