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
from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.common import proofs
from parkade.experiments.claims.common.promises import apart, theorem_52
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

LATE = 100.0
"""Merges after this time are compared with the law of pairs and the forecast."""

LASTING = 10.0
"""Promises of Lemma 5.1 that last longer than this are compared: clusters form until then."""

Row = dict[str, Any]

Promises = list[list[float]]
"""Tokens, radii, and the logarithms of the times promised by Lemma 5.1 and proved."""


def measure(setup: Setup) -> Evidence:
    """Prove all starts, and judge."""
    try:
        flint()
    except ParkadeError as error:
        return Evidence(verdict="undecided", measured=str(error)[:58], false_alarm=0.0)
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


def is_whole(row: Row) -> bool:
    """Whether a certificate is accepted and goes to the end."""
    return not row["refused"] and row["until"] >= (1 - 1e-9) * proofs.END


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


def summary(rows: Sequence[Row]) -> Row:
    """The numbers behind the verdict."""
    accepted = [row for row in rows if not row["refused"]]
    merges = [merge for row in accepted for merge in row["merges"]]
    return {
        "starts": len(rows),
        "to_the_end": sum(map(is_whole, rows)),
        "refused_by_the_check": [_name(row) for row in rows if row["refused"]],
        "contradicted_by_a_run": {_name(row): row["outside"] for row in accepted if row["outside"]},
        "not_to_the_end": [
            {"start": _name(row), "until": row["until"], "why": row["why"]}
            for row in accepted
            if not is_whole(row)
        ],
        "seconds": {
            what: sum(row["seconds"][what] for row in accepted) for what in ("proof", "check")
        },
        "cells": [_cell(n, beta, rows) for n, beta in _cells(rows)],
        "merges": _of_merges(merges) | {"outside": _outside(accepted)},
        "laws": {name: _of_law(name, merges) for name in ("pairs", "forecast")},
        "lemma_5.1": {eps: _of_promises(eps, accepted) for eps in ("usual", "best")},
        "theorem_5.2": [_of_capture(n, beta, accepted) for n, beta in _cells(rows)],
    }


def _start(row: Row) -> Start:
    return Start(row["n"], row["beta"], row["index"], row["seed"])


def _name(row: Row) -> str:
    return _start(row).name


def _cells(rows: Sequence[Row]) -> list[tuple[int, float]]:
    return sorted({(row["n"], row["beta"]) for row in rows})


def _of_cell(n: int, beta: float, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if (row["n"], row["beta"]) == (n, beta)]


def _cell(n: int, beta: float, rows: Sequence[Row]) -> Row:
    some = _of_cell(n, beta, rows)
    accepted = [row for row in some if not row["refused"]]
    seconds = [row["seconds"]["proof"] + row["seconds"]["check"] for row in accepted]
    return {
        "n": n, "beta": beta, "starts": len(some), "to_the_end": sum(map(is_whole, some)),
        "merges": sum(len(row["merges"]) for row in accepted),
        "seconds": float(np.median(seconds)) if seconds else None,
    }  # fmt: skip


def _outside(rows: Sequence[Row]) -> int:
    """Number of claims that a run contradicts."""
    return sum(len(row["outside"]) for row in rows)


def widths(merges: Sequence[Row]) -> Array:
    """The logarithms of the ratios of the bounds."""
    return np.array([math.log(high / low) for low, high in (one["bounds"] for one in merges)])


def _of_merges(merges: Sequence[Row]) -> Row:
    wide, last = widths(merges), np.array([one["bounds"][1] for one in merges])
    return {
        "proved": len(merges),
        "partners_as_simulated": sum(one["simulated"][1] == one["into"] for one in merges),
        "width": _quantiles(wide),
        "width_after_t_100": _quantiles(wide[last > LATE]),
    }


def _quantiles(sample: Array) -> list[float]:
    """The least, the median, nine tenths, and the largest of a sample."""
    return np.quantile(sample, [0, 0.5, 0.9, 1]).tolist() if sample.size else []


def _of_law(name: str, merges: Sequence[Row]) -> Row:
    """Of late merges: right partners, times inside the bounds, and errors that are proved."""
    late = [one for one in merges if one["bounds"][1] > LATE]
    right = [one for one in late if one[name] is not None and one[name][1] == one["into"]]
    errors = np.array([error(one[name][0], *one["bounds"]) for one in right])
    return {
        "late": len(late),
        "right": len(right),
        "inside": int(np.sum(errors == 0)),
        "proved_error": _quantiles(errors),
    }


def error(time: float, low: float, high: float) -> float:
    """How far the logarithm of a time is from an interval at least, whatever the truth is."""
    if low <= time <= high:
        return 0.0
    return abs(math.log(max(time, 1e-300) / (low if time < low else high)))


def _promised(eps: str, rows: Sequence[Row], most: float = math.log(proofs.END)) -> Promises:
    """Promises that last, by default not beyond the end."""
    least = math.log(LASTING)
    return [one for row in rows for one in row["promises"][eps] if least < one[2] < most]


def _of_promises(eps: str, rows: Sequence[Row]) -> Row:
    """Of strong centres with a promise that lasts: how both times compare, and who they are."""
    some = _promised(eps, rows)
    promised, proved = np.array(some).reshape(-1, 4)[:, 2:].T
    leaders = {(_name(row), k) for row in rows for k in row["leaders"] if k > 0}
    strong = {(_name(row), k) for row in rows for k, *_ in _promised(eps, [row], math.inf)}
    return {
        "centers": len(some),
        "longer_proved": int(np.sum(proved > promised)),
        "ratio_of_logarithms": _quantiles(np.maximum(proved, 0) / promised),
        "difference_of_logarithms": _quantiles(np.maximum(proved, 0) - promised),
        "leaders_of_the_first_plateau": len(leaders),
        "of_them_promised": len(leaders & strong),
    }


def _of_capture(n: int, beta: float, rows: Sequence[Row]) -> Row:
    """Theorem 5.2 for this n and β, and whether leaders of first plateaus are so far apart."""
    says = theorem_52(n, beta)
    some = [row for row in _of_cell(n, beta, rows) if len(row["leaders"]) > 1]
    tokens = [Start(n, beta, row["index"], row["seed"]).tokens() for row in some]
    far = [
        apart(x, row["leaders"], says["separation"]) for x, row in zip(tokens, some, strict=True)
    ]
    return {"n": n, "beta": beta, **says, "starts": len(some), "far_enough": sum(far)}


def lemma_rows(rows: Sequence[Row]) -> list[list[str]]:
    """A table of strong centres: what the lemma promises, and what is proved."""
    heading = ["start", "token", "eps", "radius", "ln T promised", "ln T proved"]
    return [heading] + [
        [_name(row), f"{k}", eps, f"{radius:.4g}", f"{promised:.4f}", f"{proved:.4f}"]
        for row in rows
        if not row["refused"]
        for eps in row["promises"]
        for k, radius, promised, proved in _promised(eps, [row])
    ]


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the widths of the bounds, and Lemma 5.1 beside what is proved."""
    from parkade.plots import style

    rows = [row for row in evidence.data.get("rows", []) if not row["refused"]]
    left, right = figure.subplots(1, 2)
    colors = dict(zip(BETAS, (style.GREEN, style.BLUE, style.VERMILLION, style.BLACK), strict=True))
    for beta, color in colors.items():
        some = [row for row in rows if row["beta"] == beta]
        merges = [merge for row in some for merge in row["merges"]]
        dots: dict[str, Any] = {"s": 8, "facecolors": "none", "edgecolors": color}
        dots |= {"linewidths": 0.6, "label": f"β = {beta:g}", "rasterized": True}
        left.scatter([one["bounds"][1] for one in merges], widths(merges), **dots)
        promised = np.array(_promised("usual", some)).reshape(-1, 4).T
        right.scatter(promised[2], promised[3], **dots)
    left.set(xscale="log", yscale="log", xlabel="time of the merge")
    left.set(ylabel="ln(latest/earliest), proved")
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
