"""The page of `parkade meaning -o`: every head as a small picture, in one offline file."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import parkade
from parkade.experiments import page
from parkade.experiments.output import write
from parkade.experiments.trained.meaning.rows import HeadWords, summary

if TYPE_CHECKING:
    import xarray

_CONTROLS = """
<form id="controls" aria-label="Which heads are shown, and in which order">
<label>find <input id="find" type="search" placeholder="a word, or L5H4" autocomplete="off"></label>
<label>show <select id="show"><option value="named">heads with words</option>
<option value="lines">lines</option><option value="wheels">wheels</option>
<option value="sums">sums of layers</option><option value="all">all</option></select></label>
<label>axis <select id="axis"></select></label>
<label>sort by <select id="sort"><option value="kurtosis">kurtosis</option>
<option value="layer">layer</option><option value="eigenvalue">λ</option>
<option value="copying">copying score</option></select></label>
<output id="count"></output>
</form>
<div id="heads"></div>
"""

_NOTES = """
<details><summary>How to read this page</summary>
<p>A head adds V<sub>h</sub>x to a token, for a mean x of those that it attends to. Its leading
eigenvector ξ is what it <em>writes</em>, the left one what it <em>reads</em>; +ξ and −ξ are the
two points of Table 1 of <a href="https://arxiv.org/abs/2411.04990">arXiv:2411.04990</a>. Words are
those whose direction has the largest cosine with an end of the axis: the length of the bar. If the
leading eigenvalue is complex there is a plane, and its words are drawn by their angle.</p>
<p>A large <em>kurtosis</em> means that few words stand out. Words appear only where it is larger
than along random directions (5%, corrected by Holm for the number of heads). Below a kurtosis of 4
they change when weights are rounded. <em>own p</em> is the share of random directions of the
head's own range with at least this kurtosis. <em>copies</em> is the copying score
Σλ/Σ|λ| of Elhage et al. 2021.</p></details>
"""


def to_dict(data: xarray.Dataset, listed: Sequence[HeadWords]) -> dict[str, Any]:
    """All numbers and words, for JSON."""
    return {
        "parkade": parkade.__version__,
        **{name: data.attrs[name] for name in ("model", "words", "draws", "decoded")},
        "random_kurtosis": float(data["random"].max()),
        "heads": [row.to_dict() for row in listed],
    }


def write_page(data: xarray.Dataset, listed: Sequence[HeadWords], folder: Path) -> list[Path]:
    """Write `meaning.html` and `meaning.json`."""
    numbers = to_dict(data, listed)
    return [
        write(folder / "meaning.html", document(data, listed)),
        write(folder / "meaning.json", json.dumps(numbers, indent=1, ensure_ascii=False)),
    ]


def document(data: xarray.Dataset, listed: Sequence[HeadWords]) -> str:
    """The whole page, with its data, style and script."""
    style, script = (
        files("parkade.experiments.trained.meaning").joinpath(name).read_text("utf-8")
        for name in ("page.css", "page.js")
    )
    numbers = json.dumps(to_dict(data, listed), allow_nan=False, ensure_ascii=False)
    carried = numbers.replace("<", "\\u003c")  # no word can end the script
    summed = "".join(f"<p>{html.escape(line)}</p>" for line in summary(data, listed))
    body = (
        f"<style>{style}</style>{summed}{_NOTES}{_CONTROLS}"
        f'<script type="application/json" id="data">{carried}</script><script>{script}</script>'
    )
    return page.document(f"{data.attrs['model']}: what its heads write", body)
