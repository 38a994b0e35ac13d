"""A run as one HTML file that plays anywhere: script, style and data are inside."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from parkade.base.errors import ParkadeError
from parkade.explorer import recorded
from parkade.explorer.build import build
from parkade.explorer.bundle import bundle
from parkade.explorer.view import checked
from parkade.explorer.words import Words
from parkade.runs.path import Path as Run

PAGE = Path(__file__).parent / "page"
"""The folder of the page."""

_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([\w.-]+)">')
_ICON = re.compile(r'(<link rel="icon" href=")/static/([\w.-]+\.svg)(">)')
_SCRIPT = re.compile(r'<script type="module" src="/static/([\w.-]+)"></script>')
_OUTSIDE = re.compile(r"""\b(?:src|href)\s*=\s*["']?(?:/|\w+://)[^"'\s>]*""")


class Page:
    """A self-contained page. A notebook shows it, and a browser opens it from a file.

    Examples
    --------
    >>> import parkade as pk
    >>> run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(10, 2, seed=1), 5.0)
    >>> page = run.show()  # as the last line of a cell, it is shown
    >>> page.text[:15]
    '<!doctype html>'
    """

    def __init__(self, text: str, height: int = 840) -> None:
        self.text, self.height = text, height

    def __repr__(self) -> str:
        return f"<a page of {len(self.text) / 1e6:.2g} MB; a notebook shows it>"

    def _repr_html_(self) -> str:
        # In a sandbox the page runs its own script and cannot touch the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.text)}" sandbox="allow-scripts allow-downloads" '
            f'title="parkade explorer" width="100%" height="{self.height}" style="border: 0">'
            "</iframe>"
        )


def show(run: Run, words: Words | None = None, *, view: str = "", embed: bool = False) -> Page:
    """A run as a page; with `words`, the path of a text through the layers of a model."""
    view = checked(view, run.tokens.shape[1])
    text = page(build(run, words=words), view=view, embed=embed)
    return Page(text, 420) if embed else Page(text)


def tour(*, view: str = "tour=1", embed: bool = False) -> Page:
    """The explorer's tour with its recorded scenes, as a page that needs no server."""
    view = checked(view, recorded.LIFE.n)
    scenes = [json.loads(gzip.decompress(recorded.packed(name) or b"")) for name in recorded.SCENES]
    return Page(page(*scenes, view=view, embed=embed))


def page(
    scene: dict[str, Any], *others: dict[str, Any], view: str = "", embed: bool = False
) -> str:
    """The page with a scene inside, as the text of an HTML file.

    Parameters
    ----------
    scene, *others : dict
        The scene that is shown, and recorded ones for the tour.
    view : str
        What a link has after "#", for an address that has nothing there: "t=1e13&token=5".
    embed : bool
        Whether the page is small: the picture and the time line only.
    """
    before, after = _template()
    if embed:
        before = before.replace("<html", "<html data-embed", 1)
    shown = _element(scene, f' data-view="{html.escape(view)}"' if view else "", ' id="scene"')
    return "\n".join([before + shown, *map(_element, others), after])


def _element(scene: dict[str, Any], *attributes: str) -> str:
    """A scene as an element of the page; a recorded one has its name."""
    # Without "<", no text in the data can end its element.
    data = json.dumps(scene, allow_nan=False).replace("<", "\\u003c")
    name = recorded.name_of(scene.get("settings"))
    called = f' data-recorded="{name}"' if name else ""
    return f'<script type="application/json"{called}{"".join(attributes)}>{data}</script>'


@cache
def _template() -> tuple[str, str]:
    """The page before and after the place of the scene."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    allowed: dict[str, list[str]] = {"script": [], "style": []}

    def inline(tag: str, body: str) -> str:
        body = f"\n{body}\n"
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        allowed[tag].append(f"'sha256-{digest}'")
        return body

    def style(found: re.Match[str]) -> str:
        body = (PAGE / found[1]).read_text(encoding="utf-8")
        return f"<style>{inline('style', body)}</style>"

    def icon(found: re.Match[str]) -> str:
        picture = base64.b64encode((PAGE / found[2]).read_bytes()).decode()
        return f"{found[1]}data:image/svg+xml;base64,{picture}{found[3]}"

    text = _ICON.sub(icon, _STYLE.sub(style, text))
    found = _SCRIPT.search(text)
    if found is None or len(_SCRIPT.findall(text)) != 1:
        raise ParkadeError(
            f"index.html must have one module script, got {len(_SCRIPT.findall(text))}; keep one"
        )
    script = f'<script type="module">{inline("script", bundle(PAGE / found[1]))}</script>'
    before, after = text[: found.start()], text[found.end() :]
    left = _OUTSIDE.search(before + after)
    if left:
        raise ParkadeError(
            f"index.html must refer to its own files only, got {left[0]}; put it into the page"
        )
    # No network, and no script but this one.
    policy = (
        f"default-src 'none'; script-src {' '.join(allowed['script'])}; "
        f"style-src {' '.join(allowed['style'])}; img-src data: blob:; media-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    before, count = re.subn(r'<meta charset="utf-8">', lambda m: f"{m[0]}\n{meta}", before, count=1)
    if not count:
        raise ParkadeError('index.html must have <meta charset="utf-8">, got none; add it')
    return before, script + after
