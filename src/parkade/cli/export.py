"""`parkade export`: a saved run as one HTML file that plays anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parkade.cli.guard import guarded, interruptible

EXAMPLES = ("parkade export run.npz", "parkade export run.npz -o page.html")


@guarded
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run saved by simulate -o.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page.  [default: FILE.html]"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Write a run as one HTML file that works offline."""
    with interruptible("nothing was written"):
        import parkade as pk
        from parkade.base import files
        from parkade.cli.summary import size

        target = output or file.with_suffix(".html")
        files.writable(target)
        text = pk.load(file).show().text
        with files.atomic_write(target) as page:
            page.write(text.encode())
        if not quiet:
            print(f"wrote    {target} ({size(target.stat().st_size)})")
