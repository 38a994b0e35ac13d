"""Check a built site: every link leads somewhere, and nothing is loaded from another host."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script", "img", "iframe", "source", "video", "audio", "embed", "object"}


class Page(HTMLParser):
    """The links, the parts that are loaded, and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        given = {name: value for name, value in attrs if value}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag in LOADED:
            self.loads += [given[name] for name in ("src", "data", "poster") if name in given]
        elif tag == "link" and given.get("rel") not in ("next", "prev", "search", "index"):
            self.loads += [given["href"]] if "href" in given else []
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])


def problems(site: Path) -> list[str]:
    """What is wrong with the pages of a site."""
    # Scenes forbid every request by their own policy, which the explorer's tests check.
    apart = {site / "_scenes", site / "_static"}
    files = [file for file in sorted(site.rglob("*.html")) if file.parent not in apart]
    pages = {file: Page(file) for file in files}
    found = [] if files else [f"{site} has no pages; build it with make docs"]
    for file, page in pages.items():
        name = file.relative_to(site)
        far = [target for target in page.loads if urlsplit(target).netloc]
        found += [f"{name} loads {target} from another host" for target in far]
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            if not there.is_file():
                found.append(f"{name} refers to {target}, which is not there")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                found.append(f"{name} refers to {target}, which has no such anchor")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or f"{sys.argv[1]}: all links lead somewhere")
    sys.exit(bool(wrong))
