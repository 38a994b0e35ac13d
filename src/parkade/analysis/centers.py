"""Kinds of centres, their separation, and the radius within which they consume tokens."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.theory.parking import renyi_centers, strong_renyi_centers

__all__ = ["KINDS", "consumption_radius", "separation"]

KINDS: dict[str, Callable[[Array, float], NDArray[np.int64]]] = {
    "renyi": renyi_centers,
    "strong": strong_renyi_centers,
}
"""The functions that find centres, by the names used in settings, files and figures."""


def separation(c: float, beta: float) -> float:
    """δ = cβ^{-1/2}, at most π, the largest distance of two tokens.

    Examples
    --------
    >>> from parkade.analysis.centers import separation
    >>> separation(4.0, 64.0), separation(4.0, 0.0)
    (0.5, 3.141592653589793)
    """
    return min(math.pi, c / math.sqrt(beta)) if beta > 0 else math.pi


def consumption_radius(beta: float) -> float:
    """The radius within which a centre consumes tokens: 0.5·β^{-1/2}, and 0.5 for β < 1.

    The paper does not state its radius. From half to twice this one, the shares at the end of
    Figure 3 change by less than 1%.

    Examples
    --------
    >>> from parkade.analysis.centers import consumption_radius
    >>> consumption_radius(64.0), consumption_radius(0.0)
    (0.0625, 0.5)
    """
    return 0.5 / math.sqrt(max(1.0, beta))
