"""A figure or table of a paper, computed again."""

from __future__ import annotations

from dataclasses import dataclass

from parkade.experiments.experiment import Experiment, Finding


@dataclass(frozen=True, kw_only=True)
class Exhibit(Experiment[Finding]):
    """An experiment that makes a figure or a table: pictures, tables and other files.

    Attributes
    ----------
    statement : str
        What the paper says about it.
    """

    statement: str
