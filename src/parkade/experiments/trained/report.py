"""Write a report: figures, `report.json`, `report.html`, and `explorer.html` beside it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from parkade.base.files import directory
from parkade.experiments import page
from parkade.experiments.output import Picture, save_picture, write
from parkade.experiments.trained import results as tables
from parkade.experiments.trained.figures import figures
from parkade.experiments.trained.results import StudyResults
from parkade.explorer.standalone.export import show_text
from parkade.trained.model import Trained
from parkade.trained.study.read import clipped

SHOWN = 80
"""Tokens that the explorer shows at most: a page of a few megabytes."""

Rows: TypeAlias = list[list[str]]

_SECTIONS: dict[str, tuple[str, str, Callable[[StudyResults], Rows]]] = {
    "heads": (
        "Heads",
        "The rows of Table 1 of arXiv:2411.04990 say how attention with this V alone would end. λ "
        "are the eigenvalues of V on its range, with the gain of the norm.",
        lambda results: tables.heads_rows(results.heads),
    ),
    "depth": (
        "Tokens over depth",
        "Sinks are tokens that are five times longer than the median in some layer. Centred: minus "
        "the mean of the other texts in the same layer. p by flips of sign over texts, not "
        "corrected for the number of rows.",
        lambda results: tables.depth_rows(results.survey),
    ),
    "centers": (
        "Do early tokens lead?",
        "Where early tokens lead, tokens move to earlier ones rather than to later ones: by about "
        "0.04 more in the flow of the paper. Numbers of centres alone do not tell: text is local, "
        "so there are fewer than in a random order, in both directions.",
        lambda results: tables.capture_rows(results.survey),
    ),
    "ablations": (
        "What holds tokens apart?",
        "Changed models are off the distribution that the weights were trained for: this shows "
        "what parts do in this model, not what other models would learn.",
        lambda results: tables.ablation_rows(results.ablations),
    ),
    "iterated": (
        "Layers repeated",
        "A layer of a trained model was not trained to be repeated, except in a model with tied "
        "layers.",
        lambda results: tables.iteration_rows(results.iterated, results.times),
    ),
}
"""The title of each section, a note, and its table."""


def write_report(results: StudyResults, folder: Path, text: str) -> list[Path]:
    """Write all files of a report into a folder; the explorer shows this text."""
    folder = directory(folder)
    made = {
        name: save_picture(partial(draw, results), height, folder / f"{name}.png", caption)
        for name, (draw, height, caption) in figures(results).items()
    }
    sections = "\n".join(_section(results, folder, *each) for each in made.items())
    data = json.dumps(results.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
    body = f"{_intro(results)}\n{sections}"
    return [
        write(folder / "report.html", page.document(f"{results.model.name}, measured", body)),
        write(folder / "report.json", data),
        write(folder / "explorer.html", explorer(results.model, text)),
        *(path for picture in made.values() for path in picture.paths),
    ]


def explorer(model: Trained, text: str) -> str:
    """The explorer's page of a text: its words, layers and attention."""
    read = model.read(clipped(model, text, SHOWN), attention=True)
    title = f"{len(read.words)} tokens of a text through the {model.layers} layers of {model.name}"
    mask = "causal" if model.causal else "full"
    return show_text(read.path(), title, read.attention, mask).text


def _section(results: StudyResults, folder: Path, name: str, picture: Picture) -> str:
    title, note, rows = _SECTIONS[name]
    return (
        f'<section id="{name}"><h2>{html.escape(title)}</h2><p>{html.escape(note)}</p>'
        f"{page.picture(folder, picture.path.name, picture.caption)}"
        f"{page.table(rows(results))}</section>"
    )


def _intro(results: StudyResults) -> str:
    model, texts = tables.in_words(results)
    return (
        f"<p>{html.escape(model)}. {texts}. Every number stands beside its null, the same measure "
        "where what is tested is absent.</p>"
        '<p><a href="explorer.html">The tokens of a text in the explorer</a> · '
        '<a href="report.json">all numbers</a></p>'
    )
