"""Table 1: the final configuration for every sort of V, as predicted and as seen."""

from __future__ import annotations

from parkade.experiments.claims.causal import table
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Finding, Setup
from parkade.experiments.output import Table


def measure(setup: Setup) -> Finding:
    """Run the experiment of the claim "table-1" and show what it saw as a table."""
    evidence = table.CLAIM.measure(setup)
    rows = [[str(cell) for cell in row] for row in evidence.numbers["table"]]
    return Finding(
        measured=f"{evidence.measured} ({evidence.verdict}).",
        numbers=evidence.numbers,
        data=evidence.data,
        parameters={
            "d": "3", "n": "32", "β": "9", "Q = K": "I", "T": "5000 and 1e9",
            "seed": f"{setup.seed}",
        },
        caption="A run for every row of the table.",
        tables=[Table(rows, "table1.csv", delimiter=";")],  # there are commas in the cells
    )  # fmt: skip


EXHIBIT = Exhibit(
    name="table1",
    title="Table 1: final configurations",
    paper=CAUSAL_CLUSTERING,
    statement=(
        "λ_max > 0: one point if dim L ≥ 2 (x_1(0) itself if V = I), two points ±ξ if dim L = 1. "
        "λ_max < 0: a cloud around L, or two around ±ξ."
    ),
    measure=measure,
    draw=table.draw,
    height=table.CLAIM.height,
)
