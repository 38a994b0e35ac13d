"""`parkade context`: how the attention of heads changes with the length of a text."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.base.tables import Column, terminal_width, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    import xarray

EXAMPLES = (
    "parkade context SmolLM2-135M",
    "parkade context stories15M --text book.txt --length 64 --length 256",
    "parkade context stories15M -o folder",
)


@guarded
def context(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A name of parkade trained --list, or a file or folder."
        ),
    ],
    texts: Annotated[
        list[Path] | None,
        typer.Option(
            "--text", metavar="FILE", help="A long text; may be repeated.  [default: parkade's]"
        ),
    ] = None,
    lengths: Annotated[
        list[int] | None,
        typer.Option(
            "--length", metavar="N", help="A length; may be repeated.  [default: 64 to 1024]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIRECTORY", help="Write context.json."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure which heads of a trained model dilute in long texts: entropy, locality, sink."""
    with interruptible("nothing was written"):
        from parkade.base.files import directory, reading
        from parkade.experiments.output import write
        from parkade.trained import load

        folder = None if output is None else directory(output)
        read: list[str] = []
        for path in texts or ():
            with reading(path, "a text in UTF-8", prefix="--text: "):
                read.append(path.read_text(encoding="utf-8"))
        loaded = load(model)
        data = loaded.context(read or None, lengths or None, progress=sys.stderr.isatty())
        numbers = json.dumps(data.to_dict(), allow_nan=False)
        if folder is not None:
            write(folder / "context.json", numbers)
    print(numbers if as_json else _text(data))


def _text(data: xarray.Dataset) -> str:
    from parkade.experiments.trained.meaning.context import heads_table, lengths_table, summary

    width = min(100, terminal_width())
    parts = [f"{data.attrs['model']}: attention against the length of a text"]
    for head, *body in (lengths_table(data), heads_table(data)):
        columns = [Column(name, right=i > 0) for i, name in enumerate(head)]
        parts.append(text_table(columns, body, width=width, rule=True))
    return "\n\n".join([*parts, *(textwrap.fill(line, width) for line in summary(data))])
