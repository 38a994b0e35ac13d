"""The table of final configurations, row by row, and the cases outside it."""

from __future__ import annotations

import math
from typing import Literal

from parkade.base.types import Array
from parkade.model.spectrum import Group, Spectrum

Kind = Literal["one point", "two points", "cloud", "two clouds", "rotation", "outside"]
Status = Literal["theorem", "conjecture", "observed", "outside the table"]
Verdict = tuple[Kind, Status, str]


# Rows, by the case of the spectrum. Pages compile the functions that find them, and say the same.
ZERO, JORDAN, NOTHING, EVERYWHERE, AROUND, ASUNDER, IDENTITY, PLANE, SKEW = range(9)
POINTS, EXTENDED, SHORT_OF, STILL, NEGATIVE, ROTATION, DIFFERENT = range(9, 16)

_HEAD = "V has the leading eigenvalue {value} with a {dim}-dimensional eigenspace L"
_PAIR, _OUTSIDE = "V has the leading pair {value} ± {imaginary}", "outside the table"
_AFTER = f"{_OUTSIDE}; the first token"
_POINT = "every token ends at one point of L, the normalised projection of x_1(0)"
_TURNING = "turning {where} with period {period}"
_ENDS = f"{_HEAD}: tokens end at the two points ±ξ"

ROWS: tuple[Verdict, ...] = (
    ("outside", _OUTSIDE, f"V is zero: no token moves; {_OUTSIDE}."),
    (
        "outside",
        _OUTSIDE,
        f"{_HEAD} but multiplicity {{size}}, a Jordan block: {_AFTER} approaches L like 1/t (Lemma "
        "3.1).{tail}",
    ),
    (
        "outside",
        _OUTSIDE,
        f"V has the leading eigenvalue zero with a {{dim}}-dimensional eigenspace L: {_AFTER} "
        "approaches L (Lemma 3.1).{tail}",
    ),
    (
        "cloud",
        "observed",
        f"{_HEAD}: a cloud around L, which is the whole sphere and so no constraint "
        "(observed).{tail}",
    ),
    ("cloud", "observed", f"{_HEAD}: a cloud around L (observed).{{tail}}"),
    ("two clouds", "observed", f"{_HEAD}: two clouds around ±ξ (observed).{{tail}}"),
    (
        "one point",
        "theorem",
        "V is {multiple}the identity: every token ends at x_1(0) (Theorem 4.1).",
    ),
    ("one point", "conjecture", f"{_HEAD}: {_POINT} (conjecture).{{tail}}"),
    (
        "one point",
        _OUTSIDE,
        f"{_HEAD} whose orthogonal complement is not invariant: {_OUTSIDE}; if the others follow "
        f"the first token (Lemma 3.1), {_POINT} along V's other subspaces.{{tail}}",
    ),
    ("two points", "conjecture", f"{_ENDS} (conjecture).{{tail}}"),
    (
        "two points",
        "conjecture",
        f"{_ENDS} (extends the conjecture, which is for distinct positive ones).{{tail}}",
    ),
    (
        "outside",
        _OUTSIDE,
        f"{_PAIR} with too few eigenvectors: {_AFTER} approaches its plane like 1/t.{{tail}}",
    ),
    (
        "outside",
        _OUTSIDE,
        f"V has the leading pair 0 ± {{imaginary}}, whose real part is zero: {_AFTER} keeps "
        f"{_TURNING} (Lemma 3.1).{{tail}}",
    ),
    (
        "outside",
        _OUTSIDE,
        f"{_PAIR}, whose real part is negative: {_AFTER} ends {_TURNING} (Lemma 3.1).{{tail}}",
    ),
    (
        "rotation",
        "observed",
        f"{_PAIR}: the configuration keeps {_TURNING} (observed).{{tail}}",
    ),
    (
        "outside",
        _OUTSIDE,
        "V has different leading eigenvalues with the same real part ({listed}): outside the "
        "table; the first token approaches their span without coming to rest (Lemma 3.1).{tail}",
    ),
)
"""Kinds, statuses and sentences, by the numbers above."""

GAP = " The next eigenvalue's real part is lower by {gap}: before t ~ {time} the two act as equal."
WHERE = "in its plane", "in the sum of its {dim} planes"


def real_row(
    flags: tuple[bool, bool, bool], sizes: tuple[int, int, int], value: float, tolerance: float
) -> int:
    """The row of one real leading eigenvalue, whose value is known to a tolerance.

    The flags are whether V is zero, whether the complement of the eigenspace is invariant, and
    whether all eigenvalues are distinct and positive; the sizes are d, the dimension of the
    eigenspace and the multiplicity.
    """
    zero, normal, distinct = flags
    d, dim, size = sizes
    if zero:
        return ZERO
    if size > dim:
        return JORDAN
    if abs(value) <= tolerance:
        return NOTHING
    if value < 0:
        return EVERYWHERE if dim == d else AROUND if dim > 1 else ASUNDER
    if dim == d:
        return IDENTITY
    if dim > 1:
        return PLANE if normal else SKEW
    return POINTS if distinct else EXTENDED


def pair_row(defective: bool, real: float, tolerance: float) -> int:
    """The row of one complex leading pair."""
    if defective:
        return SHORT_OF
    if abs(real) <= tolerance:
        return STILL
    return NEGATIVE if real < 0 else ROTATION


def real_leader(V: Array, found: Spectrum, lead: Group) -> Verdict:
    """The rows of the table: one real leading eigenvalue."""
    d, value, means = len(V), lead.value.real, found.means
    distinct = len(means) == d and bool((means.imag == 0).all() and (means.real > 0).all())
    flags = not V.any(), lead.normal, distinct
    row = real_row(flags, (d, lead.dim, lead.size), value, lead.tolerance)
    number = f"{value:.6g}"
    return _filled(
        row,
        found,
        value=number,
        dim=lead.dim,
        size=lead.size,
        multiple="" if number == "1" else f"{number} times ",
    )


def complex_pair(found: Spectrum, lead: Group) -> Verdict:
    """One complex leading pair."""
    a, b = lead.value.real, lead.value.imag
    row = pair_row(lead.size > lead.dim, a, lead.tolerance)
    number = f"{b:.6g}"
    return _filled(
        row,
        found,
        value=f"{a:.6g}",
        imaginary="i" if number == "1" else f"{number}i",
        where=WHERE[lead.dim > 1].format(dim=lead.dim),
        period=f"{2 * math.pi / b:.3g}",
    )


def different_leaders(found: Spectrum, lead: list[Group]) -> Verdict:
    """Leading eigenvalues with the same real part that are not a pair."""
    real_part = lead[0].value.real if abs(lead[0].value.real) > lead[0].tolerance else 0.0
    listed = ", ".join(f"{real_part:.6g}{g.value.imag:+.6g}i" for g in lead)
    return _filled(DIFFERENT, found, listed=listed)


def _filled(row: int, found: Spectrum, **blanks: str | int) -> Verdict:
    kind, status, text = ROWS[row]
    return kind, status, text.format(tail=gap_in_words(found), **blanks)


def gap_in_words(found: Spectrum) -> str:
    """A sentence on the next eigenvalue, if there is one."""
    if math.isinf(found.gap):
        return ""
    return GAP.format(gap=f"{found.gap:.3g}", time=f"{1 / found.gap:.3g}")
