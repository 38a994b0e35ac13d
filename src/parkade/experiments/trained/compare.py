"""Several models or checkpoints in one report: the same measures side by side."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import parkade
from parkade.base.files import directory
from parkade.base.numbers import counted
from parkade.experiments import page
from parkade.experiments.experiment import Figure
from parkade.experiments.output import save_picture, write
from parkade.experiments.trained import summary

PANELS = {
    "mean cosine, centred": "mean cosine, centred",
    "effective rank, centred": "effective rank, centred",
    "clusters (cosine > 0.9)": "clusters (cosine > 0.9)",
    "attention": "attention to token 1",
}
"""The measures that are drawn, and their titles."""


def write_comparison(reports: Mapping[str, dict[str, Any]], folder: Path) -> list[Path]:
    """Write the page that compares reports: a figure, a table, and links to each of them.

    Parameters
    ----------
    reports : dict
        `StudyResults.to_dict` of each model and its "source", by the name of its folder in
        `folder`.
    folder : path
    """
    folder, listed = directory(folder), list(reports.values())
    picture = save_picture(
        partial(draw, listed),
        2.6,
        folder / "compare.png",
        "Means over texts, from the first layer (0) to the last (1). Dashed: the null (pooled "
        "tokens of all texts; equal weights for attention).",
    )
    links = "".join(
        f'<li><a href="{html.escape(name)}/report.html">{html.escape(one["model"]["name"])}</a>, '
        f"read from <code>{html.escape(one['source'])}</code></li>"
        for name, one in reports.items()
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in different_texts(listed))
    learned = "".join(f"<li>{html.escape(one)}</li>" for one in extremes(listed))
    body = (
        f'<ul class="learned">{learned}</ul>'
        f"<p>{counted(len(listed), 'model')}, measured in the same way. Nulls are in brackets. "
        f'Each has a report of its own:</p><ul>{links}</ul><p><a href="report.json">All numbers'
        "</a></p>"
        f"{notes}{page.table(summary.rows(listed))}"
        f"{page.picture(folder, picture.path.name, picture.caption)}"
    )
    data = {"parkade": parkade.__version__, "reports": listed}
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)
    return [
        write(folder / "report.html", page.document("Models compared", body)),
        write(folder / "report.json", text),
        *picture.paths,
    ]


def extremes(reports: Sequence[dict[str, Any]]) -> list[str]:
    """What was learned, in three sentences: which model has the most and the least of what."""

    def cosine(report: dict[str, Any]) -> float:
        return float(report["survey"]["curves"]["mean cosine, centred"]["mean"][-1])

    def far(report: dict[str, Any]) -> float:
        return float(np.mean(np.array(report["heads"]["balance_holm"]) < 0.05))

    def first(report: dict[str, Any]) -> float:
        return float(max(report["survey"]["attention"]["mean"]))

    numbers = {
        "The mean cosine of tokens of a text, centred, in the last layer (random directions: 0)":
            cosine,
        "The share of heads that attract or repel beyond chance, by the balance Σλ/Σ|λ| (at most "
        "0.05 of tables of random heads have one)": far,
        "The attention to the first token, in the layer where it is largest,": first,
    }  # fmt: skip
    return [_ends(what, reports, number) for what, number in numbers.items()]


def _ends(what: str, reports: Sequence[dict[str, Any]], number: Callable[[Any], float]) -> str:
    """A sentence about the reports with the largest and the smallest number."""
    low, *_, high = sorted(reports, key=number)
    least, most = (f"{number(one):.2f}" for one in (low, high))
    if least == most:
        return f"{what} is {most} in all."
    names = high["model"]["name"], low["model"]["name"]
    return f"{what} is largest in {names[0]}, {most}, and smallest in {names[1]}, {least}."


def different_texts(reports: Sequence[dict[str, Any]]) -> list[str]:
    """A warning if the models have not read the same texts."""
    if all(one["read"] == reports[0]["read"] for one in reports):
        return []
    return [
        "The models have not read the same texts, for their vocabularies suit different ones: "
        "what differs may be due to the texts. With --text all read the same."
    ]


def draw(reports: Sequence[dict[str, Any]], figure: Figure) -> None:
    """Draw the main measures over depth, a colour for each model."""
    import matplotlib as mpl

    axes = figure.subplots(1, len(PANELS))
    colors = mpl.colormaps["viridis"](np.linspace(0, 0.85, len(reports)))
    for ax, (name, title) in zip(axes, PANELS.items(), strict=True):
        for report, color in zip(reports, colors, strict=True):
            survey = report["survey"]
            one = survey["attention"] if name == "attention" else survey["curves"][name]
            depth = np.linspace(0, 1, len(one["mean"]))
            ax.plot(depth, one["mean"], color=color, linewidth=1.2, label=report["model"]["name"])
            null = one["nulls"].get("pooled") or one["nulls"].get("even")
            if null:
                ax.plot(depth, null["mean"], color=color, linewidth=0.8, linestyle="--")
        ax.set(title=title, xlabel="depth")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
