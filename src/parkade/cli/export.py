"""`parkade export`: a saved run as one HTML file that plays anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parkade.cli.guard import guarded, interruptible

EXAMPLES = (
    "parkade export run.npz",
    "parkade export run.npz -o page.html --view 't=1e13&token=5'",
    "parkade export run.npz --live",
    "parkade export run.npz --embed",
    "parkade export run.npz --certificate proof.json",
    "parkade export --tour -o tour.html",
)


@guarded
def export(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A run saved by simulate -o.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page.  [default: FILE.html]"),
    ] = None,
    view: Annotated[
        str, typer.Option("--view", metavar="LINK", help="The view: the part of a link after '#'.")
    ] = "",
    embed: Annotated[
        bool, typer.Option("--embed", help="Only the picture and the time line, for a frame.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Add controls; the page computes by itself, offline.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Check this proof; show its bounds as well."
        ),
    ] = None,
    tour: Annotated[
        bool, typer.Option("--tour", help="Write the tour of the explorer instead of a run.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Write a run as one HTML file that works offline."""
    with interruptible("nothing was written"):
        import parkade as pk
        from parkade.base import files
        from parkade.base.errors import InputError
        from parkade.cli.summary import size

        if tour == (file is not None):
            raise InputError(
                "give a file or --tour, got both" if tour else "give a file or --tour, got neither"
            )
        if tour and live:
            raise InputError("the tour has recorded scenes only; omit --live")
        if tour and certificate is not None:
            raise InputError("the tour has recorded scenes only; omit --certificate")
        target = output or (file or Path("tour")).with_suffix(".html")
        files.writable(target)
        if file is not None:
            run = pk.load(file)
            text = run.show(view=view, embed=embed, live=live, certificate=certificate).text
        else:
            from parkade.explorer.standalone import export as pages

            text = pages.tour(view=view or "tour=1", embed=embed).text
        with files.atomic_write(target) as page:
            page.write(text.encode())
        if not quiet:
            print(f"wrote    {target} ({size(target.stat().st_size)})")
