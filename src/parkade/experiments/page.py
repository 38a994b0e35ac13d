"""Self-contained HTML pages: one with all exhibits, and the pieces of others."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #666; --line: #ddd; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft: #a8a8a8; --line: #3a3a3a; --paper: #161616; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; }
img { width: 100%; max-width: 50rem; background: #fff; border-radius: 4px; }
figure { margin: 1rem 0; overflow-x: auto; }
figcaption, .soft { color: var(--soft); font-size: .9rem; }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid var(--line); }
code { background: color-mix(in srgb, var(--ink) 8%, transparent); padding: .1rem .3rem;
  overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0;
  border-bottom: 1px solid var(--line); }
.learned { font-size: 1.1rem; padding-left: 1.2rem; } .learned li { margin: .4rem 0; }
summary { cursor: pointer; } .text { white-space: pre-wrap; overflow-wrap: anywhere;
  margin: .3rem 0 .8rem; padding-left: 1rem; border-left: 3px solid var(--line); }
dl { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0; }
dl div { display: flex; gap: .3rem; } dt { color: var(--soft); } dd { margin: 0; }
@media (max-width: 40rem) { body { padding: 1rem; } img { width: 44rem; max-width: none; }
  figcaption { max-width: calc(100vw - 2rem); position: sticky; left: 0; }
  td, th { min-width: 4.5rem; } }
"""

_INTRO = """
<p>Karagodin, Polyanskiy, Rigollet, <cite>Clustering in Causal Attention Masking</cite>, NeurIPS
2024, <a href="https://arxiv.org/abs/2411.04990">arXiv:2411.04990</a>: its figures and tables,
computed again by parkade, with what we measured beside what the paper says.</p>
"""


def page(folder: Path, records: Sequence[dict[str, Any]]) -> str:
    """The page of these records, whose files are in `folder`."""
    seconds = sum(record["seconds"] for record in records)
    links = " · ".join(
        f'<a href="#{_(record["name"])}">{_(record["name"])}</a>' for record in records
    )
    sections = "\n".join(_section(folder, record) for record in records)
    return document(
        "Clustering in causal attention, reproduced",
        f'{_INTRO}<p>{links}</p>\n<p class="soft">parkade '
        f"{_(records[0]['settings']['parkade'])}, {seconds:.0f} s of computing.</p>\n{sections}",
    )


def document(title: str, body: str) -> str:
    """A whole page with this title and body (HTML)."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body>\n<h1>{_(title)}</h1>{body}\n</body></html>\n"
    )


def _section(folder: Path, record: dict[str, Any]) -> str:
    made = record["made"]
    parameters = "".join(
        f"<div><dt>{_(name)}</dt><dd>{_(value)}</dd></div>"
        for name, value in made["parameters"].items()
    )
    pictures = "\n".join(picture(folder, **one) for one in made["pictures"])
    tables = "\n".join(table(rows) for rows in made["tables"])
    files = ", ".join(f'<a href="{_(file)}">{_(file)}</a>' for file in made["files"])
    return (
        f'<section id="{_(record["name"])}">\n<h2>{_(record["title"])}</h2>\n'
        f"<p>The paper says:</p><blockquote>{_(record['statement'])}</blockquote>\n"
        f"<p>Measured: {_(made['measured'])}</p>\n<dl>{parameters}</dl>\n{tables}\n{pictures}\n"
        f'<p class="soft">{record["seconds"]:.1f} s. <code>{_(record["command"])}</code>'
        f"{' Files: ' + files if files else ''}</p>\n</section>"
    )


def picture(folder: Path, path: str, caption: str) -> str:
    """A PNG file of the folder inside the page, with a link to its PDF."""
    data = base64.b64encode((folder / path).read_bytes()).decode("ascii")
    vector = Path(path).with_suffix(".pdf").as_posix()
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{_(caption)}">'
        f'<figcaption>{_(caption)} <a href="{_(vector)}">PDF</a></figcaption></figure>'
    )


def table(rows_of_text: Sequence[Sequence[str]]) -> str:
    """Rows of text; the first is the heading."""
    head, *rows = rows_of_text
    heading = "".join(f"<th>{_(cell)}</th>" for cell in head)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{_(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><tr>{heading}</tr>\n{body}</table></div>'


def _(text: Any) -> str:
    return html.escape(str(text))
