"""`parkade verify`: test claims of papers and of parkade itself."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.base.tables import Column, terminal_width, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from parkade.experiments.claim import Claim
    from parkade.experiments.verify import TestedClaim

EXAMPLES = (
    "parkade verify --quick",
    "parkade verify theorem-4.1 lemma-5.1 -o figures",
    "parkade verify --paper 2411.04990 --paper ours --quick",
    "parkade verify --list",
    "parkade verify --json > verdicts.json",
)


@guarded
def verify(
    claims: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLAIM", help="Names from --list.  [default: all]"),
    ] = None,
    papers: Annotated[
        list[str] | None,
        typer.Option(
            "--paper", metavar="NUMBER", help="Only claims of a paper (arXiv), 'ours' or 'trained'."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller samples: all claims in a few minutes.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all experiments.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIRECTORY", help="Write figures and verdicts.json here."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="List the claims and test none; also with --json.")
    ] = False,
) -> None:
    """Test claims of papers and ours: prediction, measurement and verdict for each."""
    with interruptible("no verdicts; figures of finished claims are kept"):
        from parkade.experiments.records import claims_json, list_json
        from parkade.experiments.verify import choose
        from parkade.experiments.verify import verify as run

        names = None if not claims or "all" in claims else claims
        if listing:
            chosen = choose(names, papers or None)
            print(list_json(chosen) if as_json else _list(chosen))
            return
        tested = run(
            names, papers=papers or None, quick=quick, seed=seed, output=output,
            progress=sys.stderr.isatty(),
        )  # fmt: skip
    print(claims_json(tested) if as_json else _text(tested))


def _list(claims: list[Claim]) -> str:
    """A table of the claims and their predictions, by paper."""
    columns = [Column("claim"), Column("status"), Column("prediction", share=1)]
    rows = [(c.name, c.status, c.prediction) for c in claims]
    return _by_paper(columns, [c.paper for c in claims], rows)


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
            outcome.experiment.status,
            outcome.experiment.prediction,
            outcome.finding.measured,
            outcome.finding.verdict,
        )
        for outcome in tested
    ]
    seconds = sum(outcome.seconds for outcome in tested)
    alarm = sum(outcome.finding.false_alarm for outcome in tested)
    summary = (
        f"{len(tested)} claims, {seconds:.0f} s of experiments. The probability that chance "
        f"contradicts any true claim is at most {alarm:.0e}."
    )
    table = _by_paper(columns, [outcome.experiment.paper for outcome in tested], rows)
    return f"{table}\n\n{textwrap.fill(summary, terminal_width())}"


def _by_paper(columns: list[Column], papers: list[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a heading above the rows of each paper."""
    from parkade.experiments.papers import heading

    width = terminal_width()
    # Columns are as wide as in one table of all rows, so that the groups are aligned.
    wide = [
        column._replace(least=max(len(cell) for cell in (column.name, *cells)))
        for column, *cells in zip(columns, *rows, strict=True)
    ]
    parts = [text_table(wide, (), width=width, rule=True)]
    for paper in dict.fromkeys(papers):
        group = [row for row, source in zip(rows, papers, strict=True) if source == paper]
        nameless = [column._replace(name="") for column in wide]
        line = textwrap.shorten(heading(paper), width, placeholder=" …")
        parts += ["", line, text_table(nameless, group, width=width)]
    return "\n".join(parts)
