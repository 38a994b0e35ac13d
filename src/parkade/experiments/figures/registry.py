"""Everything that can be made, by name."""

from __future__ import annotations

from parkade.experiments.figures import fig1, fig2, fig3, share, staircase, table1, verdicts
from parkade.experiments.figures.item import Item

FIGURES: dict[str, Item] = {
    item.name: item
    for item in (
        *fig1.ITEMS,
        table1.ITEM,
        fig2.ITEM,
        fig3.ITEM,
        staircase.ITEM,
        share.ITEM,
        verdicts.ITEM,
    )
}
"""Everything that can be made, by name, in the paper's order."""
