"""A claim of a paper, and the evidence for or against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from parkade.experiments.experiment import Experiment, Finding

Status: TypeAlias = Literal["lemma", "theorem", "conjecture", "observed"]
"""What the paper says of the claim: proved, conjectured, or seen in simulations."""

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
    """A statement of a paper with the experiment that tests it.

    Attributes
    ----------
    status : str
        What the paper says of it.
    prediction : str
        What should be measured, in one short phrase for the table.
    """

    status: Status
    prediction: str

    def heading(self, finding: Evidence) -> str:
        """The claim and the verdict."""
        return f"{self.title}: {finding.verdict}"

    def caption(self, finding: Evidence) -> str:
        """The claim."""
        return f"{self.name}: {self.title}"
