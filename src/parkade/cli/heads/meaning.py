"""`parkade meaning`: what the heads of a trained model write, in words."""

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
    from collections.abc import Sequence

    import xarray

    from parkade.experiments.trained.meaning.rows import HeadWords

EXAMPLES = (
    "parkade meaning stories15M",
    "parkade meaning SmolLM2-135M -o meaning",
    "parkade meaning stories15M --layer 5 --all",
    "parkade meaning path/to/model.gguf --json > heads.json",
)


@guarded
def meaning(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A name of parkade trained --list, or a file or folder."
        ),
    ],
    layers: Annotated[
        list[int] | None,
        typer.Option("--layer", metavar="N", help="A layer; may be repeated.  [default: all]"),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list heads like random directions.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIRECTORY", help="Write meaning.html and .json."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all nulls.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Name what the heads of a trained model write by words, where that beats random directions."""
    with interruptible("nothing was written"):
        from parkade.base import files
        from parkade.experiments.trained.meaning.page import to_dict, write_page
        from parkade.experiments.trained.meaning.rows import rows
        from parkade.trained import load

        folder = None if output is None else files.directory(output)
        data = load(model).meaning(layers or None, seed=seed, progress=sys.stderr.isatty())
        listed = rows(data)
        written = [] if folder is None else write_page(data, listed, folder)
    if as_json:
        print(json.dumps(to_dict(data, listed), allow_nan=False, ensure_ascii=False))
    else:
        print(_text(data, listed, everything, written))


def _text(
    data: xarray.Dataset, listed: Sequence[HeadWords], everything: bool, written: Sequence[Path]
) -> str:
    from parkade.experiments.trained.meaning.rows import heads_table, summary

    width = min(100, terminal_width())
    head, *body = heads_table([r for r in listed if everything or r.writes.significant])
    columns = [Column(name, right=1 < i < 4, share=i > 3) for i, name in enumerate(head)]
    parts = [
        f"{data.attrs['model']}: what its heads write, in words",
        *(textwrap.fill(line, width) for line in summary(data, listed)),
        text_table(columns, body, width=width, rule=True) if body else "No head is beyond them.",
        textwrap.fill(
            "copies: the copying score Σλ/Σ|λ| (Elhage et al. 2021). Words are stable above "
            "kurtosis 4.", width,
        ),
    ]  # fmt: skip
    if written:
        parts.append("wrote    " + " and ".join(map(str, written)))
    return "\n\n".join(parts)
