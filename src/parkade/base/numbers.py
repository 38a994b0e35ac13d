"""Numbers as JSON can hold them."""

from __future__ import annotations

import math


def finite(value: float) -> float | None:
    """The value if it is finite, else None: JSON has no infinity, and null stands for it."""
    return value if math.isfinite(value) else None
