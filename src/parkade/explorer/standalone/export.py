"""A run as one HTML file that plays anywhere: script, style and data are inside.

A live page has engines inside, too, and computes by itself what its controls say.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
from functools import cache
from typing import Any

from numpy.typing import ArrayLike

from parkade.base.errors import ParkadeError
from parkade.explorer.scenes import recorded
from parkade.explorer.scenes.build import build
from parkade.explorer.scenes.proved import certificate_of
from parkade.explorer.scenes.text import Text
from parkade.explorer.settings.rules import DIMENSIONS, has_parts
from parkade.explorer.settings.view import checked
from parkade.explorer.standalone import contents
from parkade.explorer.standalone.bundle import PAGE, bundle
from parkade.proof.certificate import Certificate
from parkade.runs.path import Path as Run

_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([\w.-]+)">')
_ICON = re.compile(r'(<link rel="icon" href=")/static/([\w.-]+\.svg)(">)')
_SCRIPT = re.compile(r'<script type="module" src="/static/([\w.-]+)"></script>')
_OUTSIDE = re.compile(r"""\b(?:src|href)\s*=\s*["']?(?:/|\w+://)[^"'\s>]*""")


LIVE_SCRIPT, LIVE_WORKER = " 'wasm-unsafe-eval'", "worker-src blob:; "
"""What the policy of a live page allows more than that of others."""


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


def show(
    run: Run,
    text: Text | None = None,
    *,
    view: str = "",
    embed: bool = False,
    live: bool = False,
    certificate: Certificate | str | os.PathLike[str] | None = None,
) -> Page:
    """A run as a page, with what is proved of it; with `text`, the path of a text."""
    view = checked(view, run.tokens.shape[1], live=live)
    settings = contents.settings_of(run) if live else None
    proof = None if certificate is None else certificate_of(run, certificate)
    made = page(
        build(run, settings, text=text, certificate=proof), view=view, embed=embed, live=live
    )
    return Page(made, 480 if live else 420) if embed else Page(made)


def show_text(run: Run, title: str, attention: ArrayLike | None = None, mask: str = "full") -> Page:
    """The path of a text through the layers of a model as a page, with its attention."""
    return show(run, Text(title, attention, mask))


def tour(*, view: str = "tour=1", embed: bool = False) -> Page:
    """The explorer's tour with its recorded scenes, as a page that needs no server."""
    view = checked(view, recorded.LIFE.n)
    scenes = [json.loads(gzip.decompress(recorded.packed(name) or b"")) for name in recorded.SCENES]
    return Page(page(*scenes, view=view, embed=embed))


def page(
    scene: dict[str, Any],
    *others: dict[str, Any],
    view: str = "",
    embed: bool = False,
    live: bool = False,
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
    live : bool
        Whether its controls work: it has engines for the dimension of the scene.
    """
    before, after = _template(live)
    if embed:
        before = before.replace("<html", "<html data-embed", 1)
    more = ' data-packed=""' if live else ""
    more += f' data-view="{html.escape(view)}"' if view else ""
    shown = _element(scene, more, ' id="scene"', packed=live)
    with_it = _with_it(scene["d"], has_parts(scene["settings"])) if live else []
    return "\n".join([before + shown, *map(_element, others), *with_it, after])


@cache
def _with_it(d: int, parts: bool) -> list[str]:
    """What a live page has inside, as elements; without engines if there are none for d.

    Those for the parts of a transformer are there if its scene has `parts`.
    """
    dimensions = (d,) if d in DIMENSIONS else ()
    return [
        f'<script type="text/plain" data-carried="{name}">{_packed(data)}</script>'
        for name, data in contents.carried(dimensions, parts=parts).items()
    ]


def _packed(data: bytes) -> str:
    """The data, compressed by gzip, as base64 text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _element(scene: dict[str, Any], *attributes: str, packed: bool = False) -> str:
    """A scene as an element of the page; a recorded one has its name."""
    # Without "<", no text in the data can end its element.
    data = json.dumps(scene, allow_nan=False).replace("<", "\\u003c")
    if packed:
        data = _packed(data.encode())
    name = recorded.name_of(scene.get("settings"))
    called = f' data-recorded="{name}"' if name else ""
    return f'<script type="application/json"{called}{"".join(attributes)}>{data}</script>'


@cache
def _template(live: bool = False) -> tuple[str, str]:
    """The page before and after the place of the scene."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    allowed: dict[str, list[str]] = {"script": [], "style": []}

    def inline(tag: str, body: str) -> str:
        body = f"\n{body}\n"
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        allowed[tag].append(f"'sha256-{digest}'")
        return body

    def style(match: re.Match[str]) -> str:
        body = (PAGE / match[1]).read_text(encoding="utf-8")
        return f"<style>{inline('style', body)}</style>"

    def icon(match: re.Match[str]) -> str:
        picture = base64.b64encode((PAGE / match[2]).read_bytes()).decode()
        return f"{match[1]}data:image/svg+xml;base64,{picture}{match[3]}"

    text = _ICON.sub(icon, _STYLE.sub(style, text))
    match = _SCRIPT.search(text)
    if match is None or len(_SCRIPT.findall(text)) != 1:
        raise ParkadeError(
            f"index.html must have one module script, got {len(_SCRIPT.findall(text))}; keep one"
        )
    script = f'<script type="module">{inline("script", bundle(PAGE / match[1]))}</script>'
    before, after = text[: match.start()], text[match.end() :]
    left = _OUTSIDE.search(before + after)
    if left:
        raise ParkadeError(
            f"index.html must refer to its own files only, got {left[0]}; put it into the page"
        )
    # No network, and no script but this one.
    before = with_policy(before, " ".join(allowed["script"]), " ".join(allowed["style"]), live=live)
    if live:
        before = before.replace("<html", '<html data-live="file"', 1)
    return before, script + after


def with_policy(text: str, scripts: str, styles: str, *, live: bool, own: str = "") -> str:
    """A page with the policy that allows these scripts and styles, and a live one its Worker.

    With `own`, a page may also fetch from there.
    """
    policy = (
        f"default-src 'none'; script-src {scripts}{LIVE_SCRIPT * live}; style-src {styles}; "
        f"img-src {own}data: blob:; media-src blob:; {LIVE_WORKER * live}"
        f"{f'connect-src {own.strip()}; ' if own else ''}base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page, count = re.subn(r'<meta charset="utf-8">', lambda m: f"{m[0]}\n{meta}", text, count=1)
    if not count:
        raise ParkadeError('index.html must have <meta charset="utf-8">, got none; add it')
    return page
