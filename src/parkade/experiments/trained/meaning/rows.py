"""The dataset of `Trained.meaning` as rows for tables, pages and files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base.numbers import counted
from parkade.trained.meaning.axes import ALL
from parkade.trained.meaning.table import LEVEL

if TYPE_CHECKING:
    import xarray

STABLE = 4.0
"""Above this kurtosis words hardly change if weights are rounded to four bits."""


@dataclass(frozen=True)
class AxisWords:
    """One axis of a head in words.

    Attributes
    ----------
    axis : str
        One of `parkade.trained.meaning.AXES`.
    kurtosis, holm, own_p : float
    plus, minus : list of (word, cosine)
        At both ends of a line, where it is significant.
    wheel : list of (word, angle, radius)
        Around a plane, where it is significant.
    """

    axis: str
    kurtosis: float
    holm: float
    own_p: float
    plus: Sequence[tuple[str, float]] = ()
    minus: Sequence[tuple[str, float]] = ()
    wheel: Sequence[tuple[str, float, float]] = ()

    @property
    def significant(self) -> bool:
        """Whether the kurtosis is beyond random directions, corrected for the number of heads."""
        return self.holm < LEVEL

    def to_dict(self) -> dict[str, Any]:
        """All numbers and words, for JSON."""
        return {
            "axis": self.axis,
            "kurtosis": self.kurtosis,
            "holm": self.holm,
            "own_p": self.own_p,
            "plus": [list(one) for one in self.plus],
            "minus": [list(one) for one in self.minus],
            "wheel": [list(one) for one in self.wheel],
        }


@dataclass(frozen=True)
class HeadWords:
    """One head, or the sum of a layer's heads, in words.

    Attributes
    ----------
    layer, head : int
    eigenvalue, last : complex
        Of V on its range, with the largest and with the smallest real part.
    copying, overlap : float
    axes : dict of AxisWords
    """

    layer: int
    head: int
    eigenvalue: complex
    last: complex
    copying: float
    overlap: float
    axes: dict[str, AxisWords] = field(repr=False)

    @property
    def name(self) -> str:
        """Name such as L5H4, or "L5 sum"."""
        return f"L{self.layer} sum" if self.head == ALL else f"L{self.layer}H{self.head}"

    @property
    def writes(self) -> AxisWords:
        """What it writes for its leading eigenvalue."""
        return self.axes["writes"]

    def to_dict(self) -> dict[str, Any]:
        """All numbers and words, for JSON."""
        return {
            "name": self.name,
            "layer": self.layer,
            "head": self.head,
            "eigenvalue": [self.eigenvalue.real, self.eigenvalue.imag],
            "last": [self.last.real, self.last.imag],
            "copying": self.copying,
            "overlap": self.overlap,
            "axes": [one.to_dict() for one in self.axes.values()],
        }


def rows(data: xarray.Dataset) -> list[HeadWords]:
    """All heads, those with the largest kurtosis of what they write first."""
    listed = []
    for layer in data["layer"].values:
        for head in data["head"].values:
            one = data.sel(layer=layer, head=head)
            listed.append(
                HeadWords(
                    layer=int(layer),
                    head=int(head),
                    eigenvalue=complex(one["eigenvalue"].values[()]),
                    last=complex(one["last"].values[()]),
                    copying=float(one["copying"]),
                    overlap=float(one["overlap"]),
                    axes={str(axis): _axis(one, str(axis)) for axis in data["axis"].values},
                )
            )
    return sorted(listed, key=lambda row: -row.writes.kurtosis)


def _axis(one: xarray.Dataset, name: str) -> AxisWords:
    axis = one.sel(axis=name)
    plus, minus = (
        [(str(word), float(cosine)) for word, cosine in zip(words, cosines, strict=True) if word]
        for words, cosines in zip(axis["word"].values, axis["cosine"].values, strict=True)
    )
    spokes = zip(axis["spoke"].values, axis["angle"].values, axis["radius"].values, strict=True)
    own = float(axis["own_p"])
    return AxisWords(
        axis=name,
        kurtosis=float(axis["kurtosis"]),
        holm=float(axis["holm"]),
        own_p=1.0 if np.isnan(own) else own,
        plus=plus,
        minus=minus,
        wheel=[(str(word), float(a), float(r)) for word, a, r in spokes if word],
    )


def number(value: complex) -> str:
    """An eigenvalue in a few digits.

    Examples
    --------
    >>> number(0.4612), number(-3.25 + 1.5j), number(50.8)
    ('0.46', '-3.25+1.50i', '50.80')
    """
    small = abs(value.imag) <= 1e-9 * abs(value)
    return f"{value.real:.2f}" if small else f"{value.real:.2f}{value.imag:+.2f}i"


def in_words(row: HeadWords) -> tuple[str, str]:
    """The words of both ends of what a head writes; of a plane, those of both half turns."""
    one = row.writes
    if one.wheel:
        halves = ([w for w, a, _ in one.wheel if (a < math.pi) == half] for half in (True, False))
        first, second = (" ".join(words[:8]) for words in halves)
        return f"↺ {first}", f"↺ {second}"
    return tuple(" ".join(word for word, _ in side[:6]) for side in (one.plus, one.minus))  # type: ignore[return-value]


def heads_table(listed: Sequence[HeadWords]) -> list[list[str]]:
    """A table with a row for each head; the first is the heading."""
    return [
        ["head", "λ", "kurtosis", "copies", "+ξ", "−ξ"],
        *(
            [row.name, number(row.eigenvalue), f"{row.writes.kurtosis:.1f}", f"{row.copying:+.2f}",
             *in_words(row)]
            for row in listed
        ),
    ]  # fmt: skip


def summary(data: xarray.Dataset, listed: Sequence[HeadWords]) -> list[str]:
    """What the table shows, in sentences."""
    heads = [row for row in listed if row.head != ALL]
    lines = [row for row in heads if abs(row.eigenvalue.imag) <= 1e-9 * abs(row.eigenvalue)]
    planes = [row for row in heads if row not in lines]
    counts = [sum(row.writes.significant for row in part) for part in (lines, planes)]
    strong = [row for row in heads if row.writes.significant and row.writes.kurtosis > STABLE]
    third = 2 * (max(row.layer for row in heads) + 1) / 3
    late = sum(row.layer >= third for row in strong)
    beyond = float(data["random"].max())
    decoded = "the map to logits" if data.attrs["decoded"] == "logits" else "the embedding"
    return [
        f"{data.attrs['words']} words, by {decoded}; the largest kurtosis of "
        f"{data.attrs['draws']} random directions of each kind is {beyond:.1f}.",
        f"Beyond them (Holm, 5%): {counts[0]} of {len(lines)} heads with a real leading λ and "
        f"{counts[1]} of {len(planes)} with a complex one. Kurtosis above {STABLE:g}: "
        f"{counted(len(strong), 'head')}, {late} in the last third of the layers.",
        _others(heads),
    ]


def _others(heads: Sequence[HeadWords]) -> str:
    """How many other axes of heads stand out, and whether eigenvectors do more."""
    counts = {
        name: sum(row.axes[name].significant for row in heads)
        for name in ("reads", "negative", "singular writes")
    }
    either = [
        row for row in heads if row.writes.significant or row.axes["singular writes"].significant
    ]
    more = sum(row.writes.kurtosis > row.axes["singular writes"].kurtosis for row in either)
    return (
        f"The same for what they read: {counts['reads']}, for their most negative ends: "
        f"{counts['negative']}, for what the first singular pair writes: "
        f"{counts['singular writes']}; the eigenvector has the larger kurtosis in {more} of the "
        f"{len(either)} heads where it or that one is."
    )
