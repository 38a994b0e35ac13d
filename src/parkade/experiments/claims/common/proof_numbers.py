"""The numbers of a campaign of certificates: how many, how close, and beside what else is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.experiments.claims.common.promises import apart, theorem_52
from parkade.experiments.claims.common.proofs import END, Start

LATE = 100.0
"""Merges after this time are compared with the law of pairs and the forecast."""

LASTING = 10.0
"""Promises of Lemma 5.1 that last longer than this are compared: clusters form until then."""

Row = dict[str, Any]

Promises = list[list[float]]
"""Tokens, radii, and the logarithms of the times promised by Lemma 5.1 and proved."""


def is_whole(row: Row) -> bool:
    """Whether a certificate is accepted and goes to the end."""
    return not row["refused"] and row["until"] >= (1 - 1e-9) * END


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
        "lemma_5.1": {
            eps: {
                "all": _of_promises(eps, accepted),
                **{
                    f"β = {b:g}": _of_promises(eps, with_beta(b, accepted))
                    for b in sorted({row["beta"] for row in accepted})
                },
            }
            for eps in ("usual", "best")
        },
        "theorem_5.2": [_of_capture(n, beta, accepted) for n, beta in _cells(rows)],
    }


def _start(row: Row) -> Start:
    return Start(row["n"], row["beta"], row["index"], row["seed"])


def _name(row: Row) -> str:
    return _start(row).name


def with_beta(beta: float, rows: Sequence[Row]) -> list[Row]:
    """The rows of starts with this β."""
    return [row for row in rows if row["beta"] == beta]


def _cells(rows: Sequence[Row]) -> list[tuple[int, float]]:
    return sorted({(row["n"], row["beta"]) for row in rows})


def _of_cell(n: int, beta: float, rows: Sequence[Row]) -> list[Row]:
    return [row for row in with_beta(beta, rows) if row["n"] == n]


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
        "partners_as_simulated": sum(_is_right("simulated", one) for one in merges),
        "width": _quantiles(wide),
        "width_after_t_100": _quantiles(wide[last > LATE]),
    }


def _quantiles(sample: Array) -> list[float]:
    """The least, the median, nine tenths, and the largest of a sample."""
    return np.quantile(sample, [0, 0.5, 0.9, 1]).tolist() if sample.size else []


def _is_right(name: str, merge: Row) -> bool:
    """Whether a run or a law has the partner that is proved."""
    return merge[name] is not None and bool(merge[name][1] == merge["into"])


def _of_law(name: str, merges: Sequence[Row]) -> Row:
    """Of late merges: right partners, times inside the bounds, and errors that are proved."""
    late = [one for one in merges if one["bounds"][1] > LATE]
    right = [one for one in late if _is_right(name, one)]
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


def promised(eps: str, rows: Sequence[Row], most: float = math.log(END)) -> Promises:
    """Promises that last, by default not beyond the end."""
    least = math.log(LASTING)
    return [one for row in rows for one in row["promises"][eps] if least < one[2] < most]


def _of_promises(eps: str, rows: Sequence[Row]) -> Row:
    """Of strong centres with a promise that lasts: how both times compare, and who they are."""
    some = promised(eps, rows)
    least, proved = np.array(some).reshape(-1, 4)[:, 2:].T
    leaders = {(_name(row), k) for row in rows for k in row["leaders"] if k > 0}
    strong = {(_name(row), k) for row in rows for k, *_ in promised(eps, [row], math.inf)}
    return {
        "centers": len(some),
        "longer_proved": int(np.sum(proved > least)),
        "ratio_of_logarithms": _quantiles(np.maximum(proved, 0) / least),
        "difference_of_logarithms": _quantiles(np.maximum(proved, 0) - least),
        "leaders_of_the_first_plateau": len(leaders),
        "of_them_promised": len(leaders & strong),
    }


def _of_capture(n: int, beta: float, rows: Sequence[Row]) -> Row:
    """Theorem 5.2 for this n and β, and whether leaders of first plateaus are so far apart."""
    says = theorem_52(n, beta)
    some = [row for row in _of_cell(n, beta, rows) if len(row["leaders"]) > 1]
    needed = says["separation"] or math.inf
    far = [apart(_start(row).tokens(), row["leaders"], needed) for row in some]
    return {"n": n, "beta": beta, **says, "starts": len(some), "far_enough": sum(far)}


def lemma_rows(rows: Sequence[Row]) -> list[list[str]]:
    """A table of strong centres: what the lemma promises, and what is proved."""
    heading = ["start", "token", "eps", "radius", "ln T promised", "ln T proved"]
    return [heading] + [
        [_name(row), f"{k}", eps, f"{radius:.4g}", f"{least:.4f}", f"{proved:.4f}"]
        for row in rows
        if not row["refused"]
        for eps in row["promises"]
        for k, radius, least, proved in promised(eps, [row])
    ]
