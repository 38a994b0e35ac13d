"""Every figure and table by name."""

from __future__ import annotations

from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import by_name
from parkade.experiments.figures import fig1, fig2, fig3, share, staircase, table1, verdicts

FIGURES: dict[str, Exhibit] = by_name(
    (
        fig1.PAPER,
        fig1.LATE,
        fig1.ANY_ATTENTION,
        table1.EXHIBIT,
        fig2.EXHIBIT,
        fig3.EXHIBIT,
        staircase.EXHIBIT,
        share.EXHIBIT,
        verdicts.EXHIBIT,
        verdicts.FINDINGS,
    )
)
"""Every figure and table by name, in the paper's order."""
