"""A claim of the paper, and what an experiment has to say about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from parkade.base.progress import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Status: TypeAlias = Literal["lemma", "theorem", "conjecture", "observed"]
"""What the paper says of the claim: proved, conjectured, or seen in simulations."""

Verdict: TypeAlias = Literal["agrees", "contradicts", "undecided"]
"""What the experiment says of the claim. "undecided": it cannot tell, and says why."""

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Attributes
    ----------
    quick : bool
        Take smaller samples, so that all claims together take less than a minute.
    seed : int
        All randomness of an experiment comes from this.
    report : function
        Takes the fraction done, between 0 and 1.
    """

    quick: bool
    seed: int
    report: Report

    def choose(self, quick: T, full: T) -> T:
        """The first for a quick look, the second for a thorough one."""
        return quick if self.quick else full

    def generator(self, *stream: int) -> np.random.Generator:
        """Independent randomness for each `stream` of numbers."""
        return np.random.default_rng([self.seed, *stream])


@dataclass(frozen=True)
class Evidence:
    """What came out of an experiment.

    Attributes
    ----------
    verdict : "agrees", "contradicts" or "undecided"
    measured : str
        What was seen, in one short phrase for the table.
    false_alarm : float
        Probability that the experiment contradicts a claim that is true; 0 if chance has no
        part in the verdict.
    numbers : dict
        The numbers behind it, for JSON: numbers, strings, lists and dicts.
    data : dict
        Arrays and such for the figure.
    """

    verdict: Verdict
    measured: str
    false_alarm: float
    numbers: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Claim:
    """Something the paper says, and the experiment that puts it to the test.

    Attributes
    ----------
    name : str
        What one asks for.
    title : str
        The claim in one line.
    status : str
        What the paper says of it.
    prediction : str
        What should be measured, in one short phrase for the table.
    measure : function (effort: Effort) -> Evidence
        Runs the experiment and judges.
    draw : function (evidence: Evidence, figure: Figure) -> None
        Shows it.
    height : float
        Of the figure, in inches; it is as wide as a page.
    """

    name: str
    title: str
    status: Status
    prediction: str
    measure: Callable[[Effort], Evidence]
    draw: Callable[[Evidence, Figure], None]
    height: float = 2.7
