"""Numbers that JSON can hold."""

from __future__ import annotations

import math


def finite(value: float) -> float | None:
    """The value if it is finite, else None: JSON has no infinity, so null replaces it."""
    return value if math.isfinite(value) else None
