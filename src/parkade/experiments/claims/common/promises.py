"""What Lemma 5.1 promises of the tokens of a start, beside what a certificate proves of them.

The lemma says that a token moves less than a radius before a time, if it starts far from all
earlier ones. The radius and the time depend on ε: a small ε gives a long time and a small radius.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade import theory
from parkade.base.types import Array

if TYPE_CHECKING:
    from flint import arb

    from parkade.proof.check.balls import Piece

USUAL = 0.1
"""The ε of most experiments with strong centres."""

GRID: Array = np.geomspace(1e-3, 1.0, 61)
"""Values of ε; for each token the one that promises the longest time is taken, too."""


def promises(
    x0: Array, beta: float, angles: Sequence[arb], pieces: Sequence[Piece]
) -> dict[str, list[list[float]]]:
    """For "usual" and "best" ε: token, radius, logarithm of the promised time, and of the proved.

    The time proved is that until which the token stays within the radius of the lemma. The first
    token never moves, so it is left out.
    """
    usual = theory.strong_center_guarantee(x0, beta, USUAL)
    grid = [theory.strong_center_guarantee(x0, beta, float(eps)) for eps in GRID]
    times = np.array([stay.time for stay in grid])
    best = np.where(np.isnan(times), -np.inf, times).argmax(axis=0)
    picked = {
        "usual": (usual.radius, usual.time),
        "best": tuple(
            np.array([getattr(grid[i], name)[k] for k, i in enumerate(best)])
            for name in ("radius", "time")
        ),
    }
    return {
        name: [
            [k, float(radius[k]), math.log(time[k]), _log(stays(k, radius[k], angles[k], pieces))]
            for k in np.flatnonzero(np.isfinite(time)).tolist()
        ]
        for name, (radius, time) in picked.items()
    }


def stays(k: int, radius: float, start: arb, pieces: Sequence[Piece]) -> float:
    """The time until which a token is proved to be within a radius of its start."""
    from parkade.proof.check.balls import above, turned

    until = 0.0
    for piece in pieces:
        if not above(turned(piece.ranges[k] - start)) < radius:
            break
        until = float(piece.end.lower())
    return until


def _log(time: float) -> float:
    """The logarithm of a time; very small for zero, which has none."""
    return math.log(max(time, 1e-300))


def theorem_52(n: int, beta: float) -> dict[str, Any]:
    """The smallest angle between centres for which Theorem 5.2 holds with the usual ε, or None."""
    c = theory.capture_window(N=n, eps=USUAL, beta=beta).c
    separation = None if c is None else c / math.sqrt(beta)
    return {"c": c, "separation": separation, "radius": USUAL / math.sqrt(beta)}


def apart(x0: Array, tokens: Sequence[int], separation: float) -> bool:
    """Whether some tokens start farther from each other than this angle."""
    some = x0[list(tokens)]
    cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
    return bool((np.arccos(np.clip(cosines, -1, 1)) > separation).all())
