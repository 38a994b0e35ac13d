"""Matrices as text, for input, captions and messages. Opens no files."""

from __future__ import annotations

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array

_SHOWN, _CAPTION = 8, 4  # the largest d of a diagonal that is written out
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

RANDOM = "random:"
"""The prefix of `random:SEED`."""

UNREADABLE = (
    "{name} must be a number, a diagonal like 1,1,-1, rows like '0,-1;1,0', {other}or random:SEED, "
    "got {got}"
)
UNEVEN = "{name} must have rows of one length, got rows of {lengths} numbers"
NOT_WHOLE = "{name} must be a whole number ≥ 0, got {got}"
"""Sentences about texts, which pages without a server say too."""


def entries(name: str, text: str, *, other: str = "") -> Array:
    """A number, a diagonal `1,1,-1/2` or rows `0,-1;1,0`; `other` names further forms."""
    try:
        rows = [[_entry(entry) for entry in row.split(",")] for row in text.split(";")]
    except (ValueError, ZeroDivisionError):
        got = check.brief(text)
        raise InputError(UNREADABLE.format(name=name, other=other, got=got)) from None
    if len({len(row) for row in rows}) > 1:
        lengths = ", ".join(str(len(row)) for row in rows[:8])
        more = ", …" if len(rows) > 8 else ""
        raise InputError(UNEVEN.format(name=name, lengths=lengths + more))
    if len(rows) > 1:
        return np.array(rows)
    return np.array(rows[0] if len(rows[0]) > 1 else rows[0][0])


def _entry(text: str) -> float:
    """A number, or a fraction like 1/2."""
    above, bar, below = text.partition("/")
    return float(above) / float(below) if bar else float(above)


def gaussian(d: int, rng: np.random.Generator) -> Array:
    """A matrix with independent entries N(0, 1/d): its eigenvalues fill the unit disc."""
    drawn: Array = rng.standard_normal((d, d)) / np.sqrt(d)
    return drawn


def seeded(name: str, seed: int, d: int) -> Array:
    """A Gaussian matrix for `random:SEED`.

    The name is part of the seed, so Q, K, V and the tokens of one seed are independent.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(ord(name),))
    return gaussian(d, np.random.default_rng(sequence))


def whole(what: str, text: str) -> int:
    """A whole number ≥ 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise InputError(NOT_WHOLE.format(name=what, got=check.brief(text)))
    return value


def is_identity(m: Array) -> bool:
    """Whether `m` is exactly the identity."""
    return bool(np.array_equal(m, np.eye(*m.shape))) and m.shape[0] == m.shape[1]


def brief(m: Array) -> str:
    """A matrix for `repr`: [1, 1, -1] if it is diagonal and small, otherwise its size."""
    diagonal = np.diagonal(m)
    if len(m) <= _SHOWN and np.array_equal(m, np.diag(diagonal)):
        return f"[{', '.join(f'{v:g}' for v in diagonal)}]"
    return f"<{m.shape[0]}×{m.shape[1]}>"


def words(m: Array) -> str:
    """A matrix for a caption: 2 I, diag(1, 1, −1), or its size."""
    d, diagonal = len(m), np.diagonal(m)
    if np.array_equal(m, m[0, 0] * np.eye(d)):
        return f"{number(m[0, 0])} I"
    if d <= _CAPTION and np.array_equal(m, np.diag(diagonal)):
        return f"diag({', '.join(number(v) for v in diagonal)})"
    return f"{m.shape[0]}×{m.shape[1]} matrix"


def text(m: Array) -> str:
    """A matrix in the input format: I, 1,1,-1 or 0,-1;1,0."""
    rows = np.atleast_2d(m)
    if len(rows) == 1 and (rows == 1).all():
        return "I"
    return ";".join(",".join(f"{entry:g}" for entry in row) for row in rows)


def number(value: float) -> str:
    """A number for a caption: 5000, 0.25, 10⁶⁰, with a true minus sign."""
    if value == 0 or 1e-4 < abs(value) < 1e5:
        return f"{float(f'{value:.4g}'):g}".replace("-", "−")  # 20000, not 2e+04
    mantissa, exponent = f"{value:.2e}".split("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    lead = f"{float(mantissa):g}".replace("-", "−")
    return power if lead == "1" else f"{lead}·{power}"
