"""Range checks that only the theory needs; the others are in `parkade.base.check`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array


def separations(name: str, value: Any, *, above_zero: bool) -> Array:
    """`value` as an array of angles from 0 (which may be excluded) to π."""
    angle = check.array(name, value)
    low = angle <= 0 if above_zero else angle < 0
    bad = low | (angle > math.pi)
    if bad.any():
        expected = "in (0, π]" if above_zero else "from 0 to π"
        wrong = angle[bad].flat[0]
        raise InputError(f"{name} must be an angle {expected}, got {wrong:g}; give it in radians")
    return angle


HUGE = 1e300
"""The largest β, ε or c; small multiples of it do not overflow."""


def non_negative(name: str, value: Any) -> float:
    """`value` as a float from 0 to `HUGE`."""
    result = check.number(name, value)
    if not 0 <= result <= HUGE:
        side = f"at most {HUGE:g}" if result > 0 else "≥ 0"
        raise InputError(f"{name} must be {side}, got {result:g}")
    return result


def positive(name: str, value: Any, least: float = 0.0, most: float = HUGE) -> float:
    """`value` as a float > 0 in [`least`, `most`]."""
    result = check.positive(name, value)
    if not least <= result <= most:
        raise InputError(f"{name} must lie in [{least:g}, {most:g}], got {result:g}")
    return result


def square(name: str, value: Any) -> Array:
    """A (d, d) matrix from a matrix or a vector (a diagonal); d ≥ 2."""
    m = check.array(name, value)
    if m.ndim not in (1, 2):
        raise InputError(
            f"{name} must be a d×d matrix or a vector of length d (a diagonal), got shape "
            f"{m.shape}; for a multiple of the identity pass, for example, 2 * numpy.eye(3)"
        )
    if m.shape[0] != m.shape[-1]:
        raise InputError(
            f"{name} must be a square matrix, got shape {m.shape}; for a diagonal pass a vector"
        )
    return check.matrix(name, m, check.dimension(m.shape[0]))


def one_token(name: str, value: Any, d: int) -> Array:
    """`value` as one unit vector of dimension d."""
    x = check.array(name, value)
    if x.ndim != 1:
        raise InputError(f"{name} must be one token, a vector of length {d}, got shape {x.shape}")
    unit: Array = check.tokens(x[None], d, name)[0]
    return unit


def like(value: Any, result: Array) -> Any:
    """`result` as a float if `value` is a number, unchanged otherwise."""
    return float(result) if np.ndim(value) == 0 else result
