"""The table of final configurations, row by row, and the cases outside it.

Pages that compute by themselves use these rules and sentences, too. So rules take plain numbers,
and sentences are templates that `str.format` fills in with numbers.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Kind = Literal["one point", "two points", "cloud", "two clouds", "rotation", "outside"]
Status = Literal["theorem", "conjecture", "observed", "outside the table"]


class Case(NamedTuple):
    """A row of the table, or a case outside it."""

    kind: Kind
    status: Status
    sentence: str


_HEAD = "V has the leading eigenvalue {value:.6g} with a {dim}-dimensional eigenspace L"
_POINT = "every token ends at one point of L, the normalised projection of x_1(0)"
_PAIR = "V has the leading pair {value:.6g} ± {imaginary}"
_OUTSIDE = "outside the table; the first token"
_TURNING = "turning {where} with period {period:.3g}"
_BEYOND: tuple[Kind, Status] = ("outside", "outside the table")

CASES = (
    Case(*_BEYOND, "V is zero: no token moves; outside the table."),
    Case(
        *_BEYOND,
        f"{_HEAD} but multiplicity {{size}}, a Jordan block: {_OUTSIDE} approaches L like 1/t "
        "(Lemma 3.1).{next}",
    ),
    Case(
        *_BEYOND,
        "V has the leading eigenvalue zero with a {dim}-dimensional eigenspace L: "
        f"{_OUTSIDE} approaches L (Lemma 3.1).{{next}}",
    ),
    Case(
        "cloud",
        "observed",
        f"{_HEAD}: a cloud around L, which is the whole sphere and so no constraint "
        "(observed).{next}",
    ),
    Case("cloud", "observed", f"{_HEAD}: a cloud around L (observed).{{next}}"),
    Case("two clouds", "observed", f"{_HEAD}: two clouds around ±ξ (observed).{{next}}"),
    Case(
        "one point",
        "theorem",
        "V is {multiple}the identity: every token ends at x_1(0) (Theorem 4.1).",
    ),
    Case("one point", "conjecture", f"{_HEAD}: {_POINT} (conjecture).{{next}}"),
    Case(
        "one point",
        "outside the table",
        f"{_HEAD} whose orthogonal complement is not invariant: outside the table; if the others "
        f"follow the first token (Lemma 3.1), {_POINT} along V's other subspaces.{{next}}",
    ),
    Case(
        "two points",
        "conjecture",
        f"{_HEAD}: tokens end at the two points ±ξ (conjecture).{{next}}",
    ),
    Case(
        "two points",
        "conjecture",
        f"{_HEAD}: tokens end at the two points ±ξ (extends the conjecture, which is for distinct "
        "positive ones).{next}",
    ),
    Case(
        *_BEYOND,
        f"{_PAIR} with too few eigenvectors: {_OUTSIDE} approaches its plane like 1/t.{{next}}",
    ),
    Case(
        *_BEYOND,
        "V has the leading pair 0 ± {imaginary}, whose real part is zero: "
        f"{_OUTSIDE} keeps {_TURNING} (Lemma 3.1).{{next}}",
    ),
    Case(
        *_BEYOND,
        f"{_PAIR}, whose real part is negative: {_OUTSIDE} ends {_TURNING} (Lemma 3.1).{{next}}",
    ),
    Case(
        "rotation", "observed", f"{_PAIR}: the configuration keeps {_TURNING} (observed).{{next}}"
    ),
    Case(
        *_BEYOND,
        "V has different leading eigenvalues with the same real part ({listed}): outside the "
        "table; the first token approaches their span without coming to rest (Lemma 3.1).{next}",
    ),
)
"""All cases; other code refers to a case by its index."""

(ZERO, JORDAN, NULL, CLOUD_ANYWHERE, CLOUD, CLOUDS, IDENTITY, POINT, SKEW, POINTS, MORE_POINTS) = (
    range(11)
)
PAIR_JORDAN, PAIR_NULL, PAIR_BELOW, ROTATION, SEVERAL = range(11, 16)

PHRASES = {
    "next": " The next eigenvalue's real part is lower by {gap:.3g}: before t ~ {until:.3g} the "
    "two act as equal.",
    "times": "{value:.6g} times ",
    "imaginary": "{turn:.6g}i",
    "plane": "in its plane",
    "planes": "in the sum of its {planes} planes",
    "one": "{value:.6g}{turn:+.6g}i",
}
"""Phrases for the sentences of `CASES`."""


def real_case(
    d: int, dim: int, size: int, value: float, tolerance: float, normal: bool, positive: bool
) -> int:
    """The case of one real leading eigenvalue of a V that is not zero.

    It has the multiplicity `size` and an eigenspace of dimension `dim`. `normal`: V is normal
    there. `positive`: all eigenvalues of V are distinct and positive.
    """
    if size > dim:
        return JORDAN
    if abs(value) <= tolerance:
        return NULL
    if value < 0:
        return CLOUD_ANYWHERE if dim == d else CLOUD if dim > 1 else CLOUDS
    if dim == d:
        return IDENTITY
    if dim > 1:
        return POINT if normal else SKEW
    return POINTS if positive else MORE_POINTS


def pair_case(dim: int, size: int, value: float, tolerance: float) -> int:
    """The case of one complex leading pair with the real part `value`."""
    if size > dim:
        return PAIR_JORDAN
    if abs(value) <= tolerance:
        return PAIR_NULL
    return PAIR_BELOW if value < 0 else ROTATION


class Numbers(NamedTuple):
    """The numbers that fill in the sentences."""

    value: float  # the real part of the leading eigenvalue
    turn: float = 0.0  # its imaginary part
    dim: int = 0
    size: int = 0
    planes: int = 1  # in which a pair turns
    gap: float = math.inf  # between the real part and the next
    turns: tuple[float, ...] = ()  # all imaginary parts, if there are several


def sentence(case: int, numbers: Numbers) -> str:
    """The sentence of a case, filled in."""
    value = numbers.value
    imaginary = PHRASES["imaginary"].format(turn=numbers.turn)
    following = ""
    if math.isfinite(numbers.gap):
        following = PHRASES["next"].format(gap=numbers.gap, until=1 / numbers.gap)
    return CASES[case].sentence.format(
        value=value,
        dim=numbers.dim,
        size=numbers.size,
        next=following,
        multiple="" if f"{value:.6g}" == "1" else PHRASES["times"].format(value=value),
        imaginary="i" if imaginary == "1i" else imaginary,
        where=PHRASES["plane" if numbers.planes == 1 else "planes"].format(planes=numbers.planes),
        period=2 * math.pi / numbers.turn if numbers.turn else math.inf,
        listed=", ".join(PHRASES["one"].format(value=value, turn=turn) for turn in numbers.turns),
    )
