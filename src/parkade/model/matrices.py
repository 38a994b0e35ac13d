"""Matrices written as text, for the command line and the explorer. Opens no files."""

from __future__ import annotations

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array

RANDOM = "random:"
"""What `random:SEED` begins with."""


def entries(name: str, text: str, *, other: str = "") -> Array:
    """A number, a diagonal `1,1,-1` or rows `0,-1;1,0`; `other` names further forms."""
    try:
        rows = [[float(entry) for entry in row.split(",")] for row in text.split(";")]
    except ValueError:
        raise InputError(
            f"{name} must be a number, a diagonal like 1,1,-1, rows like '0,-1;1,0', "
            f"{other}or random:SEED, got {check.brief(text)}"
        ) from None
    if len({len(row) for row in rows}) > 1:
        lengths = ", ".join(str(len(row)) for row in rows[:8])
        more = ", …" if len(rows) > 8 else ""
        raise InputError(
            f"{name} must have rows of one length, got rows of {lengths}{more} numbers"
        )
    if len(rows) > 1:
        return np.array(rows)
    return np.array(rows[0] if len(rows[0]) > 1 else rows[0][0])


def gaussian(name: str, seed: int, d: int) -> Array:
    """Entries N(0, 1/d), so that eigenvalues fill the unit disc.

    The name is part of the seed: Q, K, V and the tokens of one seed are independent.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(ord(name),))
    drawn: Array = np.random.default_rng(sequence).standard_normal((d, d)) / np.sqrt(d)
    return drawn


def whole(what: str, text: str) -> int:
    """A whole number ≥ 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise InputError(f"{what} must be a whole number ≥ 0, got {check.brief(text)}")
    return value
