"""`parkade reproduce`: the paper's figures and tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

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
    quick: Annotated[bool, typer.Option("--quick", help="Make do with smaller samples.")] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", help="Runs of Figure 3's ensemble.  [default: 5000]")
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Show what can be made, and stop.")
    ] = False,
) -> None:
    """Make the paper's figures and tables again, and a page (index.html) that shows them."""
    with interruptible(f"what was finished stays in {output}; the same command goes on from there"):
        from parkade.experiments import figures

        if listing:
            for name, item in figures.FIGURES.items():
                print(f"{name:<10} {item.title}")
            return
        chosen = None if not names or "all" in names else names
        made = figures.reproduce(
            chosen, output, seed=seed, quick=quick, runs=runs, progress=sys.stderr.isatty()
        )
    for result in made:
        how = "kept" if result.kept else f"{result.seconds:.1f} s"
        print(f"{result.name:<10} {how:>8}  {result.paths[0]}")
    print(f"all of it on one page: {output / 'index.html'}")
