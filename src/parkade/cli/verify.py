"""`parkade verify`: the paper's claims, put to the test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from parkade.experiments.claims import Result

EXAMPLES = (
    "parkade verify --quick",
    "parkade verify theorem-4.1 lemma-5.1 -o figures",
    "parkade verify --json > verdicts.json",
)


@guarded
def verify(
    claims: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLAIM", help="Names that --list shows.  [default: all]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller samples: all claims within a minute.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all experiments.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIRECTORY", help="Where figures and verdicts.json go."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Show the claims, and stop.")] = False,
) -> None:
    """Put the paper's claims to the test: prediction, measurement and verdict for each."""
    with interruptible("no verdicts; figures of finished claims stay"):
        from parkade.experiments.claims import CLAIMS, to_json
        from parkade.experiments.claims import verify as run

        if listing:
            for name, claim in CLAIMS.items():
                print(f"{name:<24} {claim.title}")
            return
        chosen = None if not claims or "all" in claims else claims
        results = run(chosen, quick=quick, seed=seed, output=output, progress=sys.stderr.isatty())
    if as_json:
        print(to_json(results))
    else:
        _print(results)


def _print(results: list[Result]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    table.add_column("paper", no_wrap=True)
    table.add_column("prediction", ratio=4, overflow="fold")
    table.add_column("measured", ratio=5, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for result in results:
        claim, evidence = result.claim, result.evidence
        table.add_row(
            claim.name, claim.status, claim.prediction, evidence.measured, evidence.verdict
        )
    table.expand = True
    console = Console(highlight=False, markup=False)
    console.print(table)
    seconds = sum(result.seconds for result in results)
    alarm = sum(result.evidence.false_alarm for result in results)
    console.print(
        f"{len(results)} claims, {seconds:.0f} s of experiments. A true claim is contradicted "
        f"by chance with a probability of {alarm:.0e} at most, all together."
    )
