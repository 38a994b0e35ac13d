"""The verdicts on claims: a table, and a figure for each. The paper's, and our own findings."""

from __future__ import annotations

from collections import Counter
from functools import partial

from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import CAUSAL_CLUSTERING, OURS, Finding, Setup
from parkade.experiments.output import Table
from parkade.experiments.verify import verify


def measure(paper: str, place: str, setup: Setup) -> Finding:
    """Test the claims of a paper; write verdicts.json and the figures beside it."""
    folder = None if setup.folder is None else setup.folder / place
    # Whole lives take long: ours are tested with small samples, unless there is a number of runs.
    quick = setup.quick or (paper == OURS and setup.runs is None)
    tested = verify(
        papers=paper, quick=quick, seed=setup.seed, runs=setup.runs if paper == OURS else None,
        output=folder, report=setup.report,
    )  # fmt: skip
    heading = ["claim", "status", "prediction", "measured", "verdict"]
    rows = [
        [t.experiment.name, t.experiment.origin, t.experiment.prediction, t.finding.measured,
         t.finding.verdict]
        for t in tested
    ]  # fmt: skip
    counts = Counter(t.finding.verdict for t in tested)
    chance = sum(t.finding.false_alarm for t in tested)
    return Finding(
        measured=(
            ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            + f". Chance contradicts a true claim with a probability of {chance:.0e} at most."
        ),
        numbers={t.experiment.name: t.finding.verdict for t in tested},
        parameters={"sample": "quick" if quick else "full", "seed": f"{setup.seed}"},
        tables=[Table([heading, *rows])],
        pictures=[picture for t in tested for picture in t.pictures],
        files=[] if folder is None else [folder / "verdicts.json"],
    )


EXHIBIT = Exhibit(
    name="verify",
    title="Every claim of the paper, put to the test",
    paper=CAUSAL_CLUSTERING,
    statement="Lemmas, theorems, conjectures and observations: see the table.",
    measure=partial(measure, CAUSAL_CLUSTERING, "verify"),
)

FINDINGS = Exhibit(
    name="findings",
    title="Beyond the paper: the law of merges",
    paper=OURS,
    statement="Who merges with whom, and when, follows from the start alone.",
    measure=partial(measure, OURS, "findings"),
)
