"""The verdicts on all claims: a table, and a figure for each."""

from __future__ import annotations

from collections import Counter

from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import CAUSAL_CLUSTERING, Effort, Finding
from parkade.experiments.output import Table
from parkade.experiments.verify import verify


def measure(effort: Effort) -> Finding:
    """Test all claims; write verify/verdicts.json and the figures beside it."""
    folder = None if effort.folder is None else effort.folder / "verify"
    tested = verify(quick=effort.quick, seed=effort.seed, output=folder, report=effort.report)
    heading = ["claim", "in the paper", "prediction", "measured", "verdict"]
    rows = [
        [t.experiment.name, t.experiment.status, t.experiment.prediction, t.finding.measured,
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
        parameters={"sample": "quick" if effort.quick else "full", "seed": f"{effort.seed}"},
        tables=[Table([heading, *rows])],
        pictures=[picture for t in tested for picture in t.pictures],
        files=[] if folder is None else [folder / "verdicts.json"],
    )


EXHIBIT = Exhibit(
    name="verify",
    title="Every claim of the paper, put to the test",
    paper=CAUSAL_CLUSTERING,
    statement="Lemmas, theorems, conjectures and observations: see the table.",
    measure=measure,
)
