"""Pages that live outside of docs/, such as the changelog, as pages of the site.

On a code host docs/project/changelog.md is a link to CHANGELOG.md. On the site it has its text.
Links between all of these files work in both places.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = {
    "project/benchmarks": "benchmarks/README.md",
    "project/changelog": "CHANGELOG.md",
    "project/contributing": "CONTRIBUTING.md",
}
"""The page of the site, and the file whose text it has."""

_PLACES = {file: f"docs/{page}.md" for page, file in PAGES.items()} | {
    "README.md": "docs/index.md",
    "examples": "docs/gallery/index.rst",
}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def moved(text: str, file: str, page: str) -> str:
    """The Markdown of a file of the project, with links as seen from a page of the site."""

    def link(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(file).parent / found[1])
        target = os.path.relpath(_PLACES.get(target, target), Path(page).parent)
        return f"]({target}{found[2] or ''})"

    return _LINK.sub(link, text)


def _read(app: Any, docname: str, source: list[str]) -> None:
    page = f"docs/{docname}.md"
    if not (ROOT / page).is_file():  # the gallery and the API are not Markdown
        return
    file = PAGES.get(docname)
    text = (ROOT / file).read_text(encoding="utf-8") if file else source[0]
    source[0] = moved(text, file or page, page)
    if file:
        app.env.note_dependency(str(ROOT / file))


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "version": "1"}
