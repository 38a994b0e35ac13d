"""The table of final configurations, row by row, and the cases outside it."""

from __future__ import annotations

import math
from typing import Literal

from parkade.base.types import Array
from parkade.model.spectrum import Group, Spectrum

Kind = Literal["one point", "two points", "cloud", "two clouds", "rotation", "outside"]
Status = Literal["theorem", "conjecture", "observed", "outside the table"]
Verdict = tuple[Kind, Status, str]


def real_leader(V: Array, found: Spectrum, lead: Group) -> Verdict:
    """The rows of the table: one real leading eigenvalue."""
    d, dim, value = len(V), lead.dim, lead.value.real
    head = f"V has the leading eigenvalue {value:.6g} with a {dim}-dimensional eigenspace L"
    tail = gap_in_words(found)
    if not V.any():
        return "outside", "outside the table", "V is zero: no token moves; outside the table."
    if lead.size > dim:
        return (
            "outside",
            "outside the table",
            f"{head} but multiplicity {lead.size}, a Jordan block: outside the table; the first "
            f"token approaches L like 1/t (Lemma 3.1).{tail}",
        )
    if abs(value) <= lead.tolerance:
        return (
            "outside",
            "outside the table",
            f"V has the leading eigenvalue zero with a {dim}-dimensional eigenspace L: outside the "
            f"table; the first token approaches L (Lemma 3.1).{tail}",
        )
    if value < 0:
        if dim == d:
            around = "around L, which is the whole sphere and so no constraint"
            return "cloud", "observed", f"{head}: a cloud {around} (observed).{tail}"
        if dim > 1:
            return "cloud", "observed", f"{head}: a cloud around L (observed).{tail}"
        return "two clouds", "observed", f"{head}: two clouds around ±ξ (observed).{tail}"
    if dim == d:
        multiple = "" if f"{value:.6g}" == "1" else f"{value:.6g} times "
        text = f"V is {multiple}the identity: every token ends at x_1(0) (Theorem 4.1)."
        return "one point", "theorem", text
    if dim > 1:
        point = "every token ends at one point of L, the normalised projection of x_1(0)"
        if lead.normal:
            return "one point", "conjecture", f"{head}: {point} (conjecture).{tail}"
        return (
            "one point",
            "outside the table",
            f"{head} whose orthogonal complement is not invariant: outside the table; if the "
            f"others follow the first token (Lemma 3.1), {point} along V's other subspaces.{tail}",
        )
    stated = len(found.means) == d and bool((found.means.imag == 0).all() and _positive(found))
    how = "conjecture" if stated else "extends the conjecture, which is for distinct positive ones"
    return "two points", "conjecture", f"{head}: tokens end at the two points ±ξ ({how}).{tail}"


def _positive(found: Spectrum) -> bool:
    return bool((found.means.real > 0).all())


def complex_pair(found: Spectrum, lead: Group) -> Verdict:
    """One complex leading pair."""
    a, b = lead.value.real, lead.value.imag
    imaginary = "i" if f"{b:.6g}" == "1" else f"{b:.6g}i"
    head = f"V has the leading pair {a:.6g} ± {imaginary}"
    tail = f"{gap_in_words(found)}"
    outside = "outside the table; the first token"
    if lead.size > lead.dim:
        text = f"{head} with too few eigenvectors: {outside} approaches its plane like 1/t.{tail}"
        return "outside", "outside the table", text
    where = "in its plane" if lead.dim == 1 else f"in the sum of its {lead.dim} planes"
    turning = f"turning {where} with period {2 * math.pi / b:.3g}"
    if abs(a) <= lead.tolerance:
        text = f"V has the leading pair 0 ± {imaginary}, whose real part is zero: {outside} keeps "
        return "outside", "outside the table", f"{text}{turning} (Lemma 3.1).{tail}"
    if a < 0:
        text = f"{head}, whose real part is negative: {outside} ends {turning} (Lemma 3.1).{tail}"
        return "outside", "outside the table", text
    return "rotation", "observed", f"{head}: the configuration keeps {turning} (observed).{tail}"


def gap_in_words(found: Spectrum) -> str:
    """A sentence on the next eigenvalue, if there is one."""
    if math.isinf(found.gap):
        return ""
    return (
        f" The next eigenvalue's real part is lower by {found.gap:.3g}: before t ~ "
        f"{1 / found.gap:.3g} the two act as equal."
    )
