"""Tokens near a watershed, where the pulls of two clusters cancel: why a proof may end.

Nothing is proved here. It finds the words for what could not be proved.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flint import arb

from parkade.base.types import Array

_NEAR = 0.1  # how near a watershed is, in units of 1/β


def watershed(who: Iterable[int], places: list[arb], beta: float, radius: float) -> str:
    """A sentence about the first of these tokens that is near a watershed; empty if none is."""
    angles = np.array([float(place.mid()) for place in places])
    widths = np.array([float(place.rad()) for place in places])
    leaders = [k for k in range(len(angles)) if (abs(_gaps(angles, k)) > radius).all()]
    for k in who:
        gaps, reach = _gaps(angles, k), 2 * widths[k] + _NEAR / beta
        below, above = (_pull(gaps + shift, beta) for shift in (reach, -reach))
        if not below < 0 < above:
            continue
        before = np.array([u for u in leaders if u < k])
        ways = gaps[before] % (2 * np.pi)
        sides = {int(before[ways.argmin()]), int(before[ways.argmax()])}
        if len(sides) == 1:
            return f"token {k} is near the place opposite to the cluster of {sides.pop()}"
        u, v = sorted(sides)
        return (
            f"token {k} is near the watershed between the clusters of {u} and {v}, where their "
            "pulls cancel"
        )
    return ""


def _gaps(angles: Array, k: int) -> Array:
    """How far earlier tokens are from token k, on the shorter way."""
    gaps: Array = np.angle(np.exp(1j * (angles[:k] - angles[k])))
    return gaps


def _pull(gaps: Array, beta: float) -> float:
    """Σ h over these gaps, up to a positive factor that keeps it from vanishing."""
    largest = np.cos(gaps).max(initial=-1.0)
    return float((np.exp(beta * (np.cos(gaps) - largest)) * np.sin(gaps)).sum())
