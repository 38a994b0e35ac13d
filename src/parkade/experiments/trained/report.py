"""Write a report: figures, `report.json`, `report.html`, and `explorer.html` beside it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from parkade.base.files import directory
from parkade.base.numbers import counted
from parkade.experiments import page
from parkade.experiments.output import Picture, save_picture, write
from parkade.experiments.trained import sentences, tables
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
        "the mean of the other texts in the same layer. Isotropic: as many random directions. "
        "Pooled: as many tokens of all texts together. Gaussian: as many Gaussian tokens with the "
        "mean and the covariance of those of all texts.",
        lambda results: tables.depth_rows(results.survey),
    ),
    "centers": (
        "Do early tokens lead?",
        "Where early tokens lead, tokens move to earlier ones rather than to later ones: by "
        f"{sentences.PAPER_PULL} more in the flow of the paper. Numbers of centres alone do not "
        "tell: text is local, so there are fewer than in a random order, in both directions.",
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
        "layers. Tokens with a cosine above 0.9 are linked to clusters. The last column says what "
        "is equal up to rounding.",
        lambda results: tables.iteration_rows(results.iterated, results.times),
    ),
}
"""The title of each section, a note, and its table."""


def write_report(results: StudyResults, folder: Path, source: str = "") -> list[Path]:
    """Write all files of a report into a folder; the explorer shows the first text.

    Parameters
    ----------
    results : StudyResults
    folder : path
    source : str
        Where the model was read from, for the page.
    """
    folder = directory(folder)
    made = {
        name: save_picture(partial(draw, results), height, folder / f"{name}.png", caption)
        for name, (draw, height, caption) in figures(results).items()
    }
    sections = "\n".join(_section(results, folder, *each) for each in made.items())
    data = json.dumps(results.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
    shown, note = explorer(results.model, results.texts[0])
    body = f"{_intro(results, note, source)}\n{_texts(results)}\n{sections}"
    return [
        write(folder / "report.html", page.document(f"{results.model.name}, measured", body)),
        write(folder / "report.json", data),
        write(folder / "explorer.html", shown),
        *(path for picture in made.values() for path in picture.paths),
    ]


def explorer(model: Trained, text: str) -> tuple[str, str]:
    """The explorer's page of a text (its words, layers and attention), and what it shows."""
    whole = len(clipped(model, text))
    read = model.read(clipped(model, text, SHOWN), attention=True)
    shown = len(read.ids)
    which = f"all {shown}" if shown == whole else f"the first {shown} of {whole}"
    title = f"{which} tokens of a text through the {model.layers} layers of {model.name}"
    mask = "causal" if model.causal else "full"
    small = "" if shown == whole else ", read alone, to keep the page small"
    return show_text(read.path(), title, read.attention, mask).text, f"{which} tokens{small}"


def _section(results: StudyResults, folder: Path, name: str, picture: Picture) -> str:
    title, note, rows = _SECTIONS[name]
    note += f" {sentences.floor(results.survey)}" if name == "depth" else ""
    return (
        f'<section id="{name}"><h2>{html.escape(title)}</h2><p>{html.escape(note)}</p>'
        f"{page.picture(folder, picture.path.name, picture.caption)}"
        f"{page.table(rows(results))}</section>"
    )


def _intro(results: StudyResults, shown: str, source: str) -> str:
    model, texts = sentences.in_words(results)
    learned = "".join(f"<li>{html.escape(one)}</li>" for one in sentences.learned(results))
    out = [f"{one[:1].upper()}{one[1:]}." for one in sentences.left_out(results)]
    read = f" Read from <code>{html.escape(source)}</code>." if source else ""
    return (
        f'<ul class="learned">{learned}</ul>\n'
        f"<p>{html.escape(model)}. {html.escape(texts)}.{read} Every number stands beside its "
        "null, the same measure where what is tested is absent.</p>\n"
        + (f"<p>{html.escape(' '.join(out))}</p>\n" if out else "")
        + f'<p><a href="explorer.html">The first text in the explorer</a> ({html.escape(shown)}) · '
        '<a href="report.json">all numbers</a></p>'
    )


def _texts(results: StudyResults) -> str:
    """The texts that were measured, the first one open."""
    listed = [
        f"<details{' open' * (i == 0)}><summary>Text {i + 1}, {counted(len(words), 'token')}"
        f'</summary><p class="text">{html.escape(text)}</p></details>'
        for i, (text, words) in enumerate(zip(results.texts, results.survey.words, strict=True))
    ]
    return f'<section id="texts"><h2>Texts</h2>{"".join(listed)}</section>'
