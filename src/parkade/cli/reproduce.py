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
    "parkade reproduce all",
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
    listing: Annotated[
        bool, typer.Option("--list", help="Show what can be made, and stop.")
    ] = False,
) -> None:
    """Make the paper's figures and tables again."""
    with interruptible(f"what was finished stays in {output}"):
        from parkade import paper

        if listing:
            for name, item in paper.FIGURES.items():
                print(f"{name:<8} {item.title}")
            return
        chosen = None if not names or "all" in names else names
        made = paper.reproduce(chosen, output, seed=seed, progress=sys.stderr.isatty())
    for result in made:
        for path in result.paths:
            print(f"{path}  ({result.name}, {result.seconds:.1f} s)")
