"""`parkade reproduce`: the paper's figures and tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from parkade.base.tables import Column, text_table
from parkade.cli.guard import guarded, interruptible

EXAMPLES = (
    "parkade reproduce --list",
    "parkade reproduce fig1 -o results",
    "parkade reproduce fig3 --runs 500",
    "parkade reproduce all --quick",
)


@guarded
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Names from --list.  [default: all]",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIRECTORY", help="Write the files here.")
    ] = Path("results"),
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random starts.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Use smaller samples.")] = False,
    runs: Annotated[
        int | None,
        typer.Option("--runs", help="Runs of the ensembles of fig3 (default 5000) and findings."),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the figures and tables and exit.")
    ] = False,
) -> None:
    """Reproduce the paper's figures and tables, and show them on a page (index.html)."""
    with interruptible(
        f"finished results are kept in {output}; run the same command again to continue"
    ):
        from parkade.experiments.figures.registry import FIGURES
        from parkade.experiments.reproduce import reproduce as run

        if listing:
            print(text_table([Column(), Column()], ((f.name, f.title) for f in FIGURES.values())))
            return
        chosen = None if not names or "all" in names else names
        made = run(chosen, output, seed=seed, quick=quick, runs=runs, progress=sys.stderr.isatty())
    rows = [(m.name, "kept" if m.reused else f"{m.seconds:.1f} s", str(m.paths[0])) for m in made]
    print(text_table([Column(least=9), Column(least=8, right=True), Column()], rows))
    print(f"all on one page: {output / 'index.html'}")
