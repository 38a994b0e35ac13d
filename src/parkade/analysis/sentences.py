"""Short descriptions of expected and observed final configurations."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.theory.final import FinalConfiguration
from parkade.theory.parking import renyi_centers

APART = 0.05
"""Final tokens closer than this angle count as one point."""

NEAR, INSIDE = ", within {degrees:.0f}° of L", " in L"
"""Phrases for tokens that are near L, and in L."""

CLOSE = 0.1
"""Tokens at most this far from L count as in L, in degrees."""

_PLACES = {
    "one point": " of L",
    "two points": " ±ξ",
    "cloud": " around L",
    "two clouds": " around ±ξ",
    "rotation": " in L",
    "outside": "",
}


def expected(final: FinalConfiguration) -> str:
    """The prediction from the spectrum of V in words, such as "two points ±ξ"."""
    if final.status == "theorem":
        return "one point, x₁(0), for t → ∞"
    return final.kind + _PLACES[final.kind]


def points(tokens: Array) -> str:
    """The number of distinct points among `tokens`, such as "2 points"."""
    count = len(renyi_centers(tokens, APART))
    return f"{count} point{'s' * (count != 1)}"


def seen(final: FinalConfiguration, tokens: Array) -> str:
    """A description of `tokens`, such as "2 points in L"."""
    return points(tokens) + closeness(final, tokens)


def closeness(final: FinalConfiguration, tokens: Array) -> str:
    """How close `tokens` are to L, such as " in L"; empty if L is everything."""
    if final.dim == len(final.basis):
        return ""
    degrees = np.degrees(final.angles(tokens).max())
    return NEAR.format(degrees=degrees) if degrees > CLOSE else INSIDE
