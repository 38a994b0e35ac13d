"""Table 1: the final configuration for every kind of V, as predicted and as seen."""

from __future__ import annotations

from parkade.base.files import atomic_write
from parkade.experiments.claims import CLAIMS, Effort
from parkade.experiments.figures.item import Item, Job, Made


def make(job: Job) -> Made:
    """Run the experiment of the claim "table-1" and write what it saw as a table."""
    from parkade import plots
    from parkade.plots import style

    claim = CLAIMS["table-1"]
    evidence = claim.measure(Effort(job.quick, job.seed, job.report))
    figure = plots.new_figure(style.PAGE, claim.height)
    with style.context():
        claim.draw(evidence, figure)
    table = [[str(cell) for cell in row] for row in evidence.numbers["table"]]
    path = job.output / "table1.csv"
    with atomic_write(path) as file:
        file.write("".join(";".join(row) + "\n" for row in table).encode())
    return Made(
        parameters={
            "d": "3", "n": "32", "β": "9", "Q = K": "I", "T": "5000 and 1e9", "seed": f"{job.seed}"
        },
        measured=f"{evidence.measured} ({evidence.verdict}).",
        pictures=[job.save(figure, "table1", "A run for every row of the table.")],
        tables=[table],
        files=[path],
        numbers=evidence.numbers,
    )  # fmt: skip


ITEM = Item(
    name="table1",
    title="Table 1: final configurations",
    statement=(
        "λ_max > 0: one point if dim L ≥ 2 (x_1(0) itself if V = I), two points ±ξ if dim L = 1. "
        "λ_max < 0: a cloud around L, or two around ±ξ."
    ),
    make=make,
)
