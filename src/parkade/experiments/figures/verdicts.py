"""The paper's claims, put to the test: a table of verdicts, and a figure for each."""

from __future__ import annotations

from collections import Counter

from parkade.experiments.claims import verify
from parkade.experiments.figures.item import Item, Job, Made, Picture


def make(job: Job) -> Made:
    """Run all experiments; write verify/verdicts.json and the figures beside it."""
    folder = job.output / "verify"
    results = verify(quick=job.quick, seed=job.seed, output=folder, report=job.report)
    heading = ["claim", "in the paper", "prediction", "measured", "verdict"]
    rows = [
        [r.claim.name, r.claim.status, r.claim.prediction, r.evidence.measured, r.evidence.verdict]
        for r in results
    ]
    counts = Counter(r.evidence.verdict for r in results)
    chance = sum(r.evidence.false_alarm for r in results)
    return Made(
        parameters={"sample": "quick" if job.quick else "full", "seed": f"{job.seed}"},
        measured=(
            ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            + f". Chance contradicts a true claim with a probability of {chance:.0e} at most."
        ),
        pictures=[Picture(r.paths[0], f"{r.claim.name}: {r.claim.title}") for r in results],
        tables=[[heading, *rows]],
        files=[folder / "verdicts.json"],
        numbers={r.claim.name: r.evidence.verdict for r in results},
    )


ITEM = Item(
    name="verify",
    title="Every claim of the paper, put to the test",
    statement="Lemmas, theorems, conjectures and observations: see the table.",
    make=make,
)
