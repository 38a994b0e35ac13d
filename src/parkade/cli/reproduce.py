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
            help="Names that --list shows.  [default: all]",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIRECTORY", help="Where the files go.")
    ] = Path("results"),
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random starts.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Take smaller samples.")] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", help="Runs of Figure 3's ensemble.  [default: 5000]")
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Show what can be made, and stop.")
    ] = False,
) -> None:
    """Make the paper's figures and tables again, and a page (index.html) that shows them."""
    with interruptible(
        f"what was finished stays in {output}; the same command continues from there"
    ):
        from parkade.experiments.figures.registry import FIGURES
        from parkade.experiments.reproduce import reproduce as run

        if listing:
            print(text_table([Column(), Column()], ((f.name, f.title) for f in FIGURES.values())))
            return
        chosen = None if not names or "all" in names else names
        made = run(chosen, output, seed=seed, quick=quick, runs=runs, progress=sys.stderr.isatty())
    rows = [(m.name, "kept" if m.kept else f"{m.seconds:.1f} s", str(m.paths[0])) for m in made]
    print(text_table([Column(least=9), Column(least=8, right=True), Column()], rows))
    print(f"all of it on one page: {output / 'index.html'}")
