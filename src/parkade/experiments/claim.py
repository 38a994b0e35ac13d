"""A claim of a paper or of our own, and the evidence for or against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from parkade.experiments.experiment import OURS, Experiment, Finding

Status: TypeAlias = Literal["lemma", "theorem", "derived", "conjecture", "observed"]
"""What its authors say of the claim: proved, derived from a simplified model, conjectured, or
seen in simulations."""

Judgement: TypeAlias = Literal["agrees", "contradicts", "undecided"]
"""What the experiment says of the claim. "undecided" means that it cannot tell."""


@dataclass(frozen=True, kw_only=True)
class Evidence(Finding):
    """A finding that decides about a claim.

    Attributes
    ----------
    verdict : "agrees", "contradicts" or "undecided"
    false_alarm : float
        The probability that the experiment contradicts a claim that is true; 0 if the verdict
        does not depend on chance.
    """

    verdict: Judgement
    false_alarm: float


@dataclass(frozen=True, kw_only=True)
class Claim(Experiment[Evidence]):
    """A statement of a paper, or of our own, with the experiment that tests it.

    Attributes
    ----------
    status : str
        What its authors say of it.
    prediction : str
        What should be measured, in one short phrase for the table.
    """

    status: Status
    prediction: str

    @property
    def origin(self) -> str:
        """Its status for tables, with "ours" before it if it is not of a paper."""
        return f"ours: {self.status}" if self.paper == OURS else self.status

    def heading(self, finding: Evidence) -> str:
        """Title of the claim and its verdict, above the picture."""
        return f"{self.title}: {finding.verdict}"

    def caption(self, finding: Evidence) -> str:
        """Name and title of the claim, below its picture."""
        return f"{self.name}: {self.title}"
