"""`parkade verify`: test the paper's claims, and ours."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.base.tables import Column, terminal_width, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from parkade.experiments.verify import TestedClaim

EXAMPLES = (
    "parkade verify --quick",
    "parkade verify theorem-4.1 lemma-5.1 -o figures",
    "parkade verify --json > verdicts.json",
)


@guarded
def verify(
    claims: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLAIM", help="Names from --list.  [default: all]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller samples: all claims within a minute.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all experiments.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIRECTORY", help="Write figures and verdicts.json here."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the claims and exit.")] = False,
) -> None:
    """Test the paper's claims and ours: prediction, measurement and verdict for each."""
    with interruptible("no verdicts; figures of finished claims are kept"):
        from parkade.experiments.claims.registry import CLAIMS
        from parkade.experiments.records import claims_json
        from parkade.experiments.verify import verify as run

        if listing:
            print(
                text_table(
                    [Column(least=23), Column()], ((c.name, c.title) for c in CLAIMS.values())
                )
            )
            return
        chosen = None if not claims or "all" in claims else claims
        tested = run(chosen, quick=quick, seed=seed, output=output, progress=sys.stderr.isatty())
    print(claims_json(tested) if as_json else _text(tested))


def _text(tested: list[TestedClaim]) -> str:
    """The verdicts as a table, and the probability of a false alarm."""
    columns = [
        Column("claim"),
        Column("status"),
        Column("prediction", share=4),
        Column("measured", share=5),
        Column("verdict"),
    ]
    rows = [
        (
            outcome.experiment.name,
            outcome.experiment.origin,
            outcome.experiment.prediction,
            outcome.finding.measured,
            outcome.finding.verdict,
        )
        for outcome in tested
    ]
    width = terminal_width()
    seconds = sum(outcome.seconds for outcome in tested)
    alarm = sum(outcome.finding.false_alarm for outcome in tested)
    summary = (
        f"{len(tested)} claims, {seconds:.0f} s of experiments. The probability that chance "
        f"contradicts any true claim is at most {alarm:.0e}."
    )
    table = text_table(columns, rows, width=width, rule=True)
    return f"{table}\n\n{textwrap.fill(summary, width)}"
