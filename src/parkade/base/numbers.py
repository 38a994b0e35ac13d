"""Numbers for JSON and for sentences."""

from __future__ import annotations

import math


def finite(value: float) -> float | None:
    """The value if it is finite, else None: JSON has no infinity, so null replaces it."""
    return value if math.isfinite(value) else None


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1.

    Examples
    --------
    >>> from parkade.base.numbers import counted
    >>> counted(1, "cluster"), counted(2, "cluster"), counted(3, "batch")
    ('1 cluster', '2 clusters', '3 batches')
    """
    ending = "" if number == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number} {noun}{ending}"
