"""Several models or checkpoints in one report: the same measures side by side."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
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
        `StudyResults.to_dict` of each model, by the name of its folder in `folder`.
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
    links = " · ".join(
        f'<a href="{html.escape(name)}/report.html">{html.escape(one["model"]["name"])}</a>'
        for name, one in reports.items()
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in different_texts(listed))
    body = (
        f"<p>{counted(len(listed), 'model')}, measured in the same way. Nulls are in brackets. "
        f"Each has a report of its own: {links}. "
        '<a href="report.json">All numbers</a>.</p>'
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
