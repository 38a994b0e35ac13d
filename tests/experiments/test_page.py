"""The page shows everything that was made, and needs no other file."""

import html.parser

import pytest
from support.experiments import fake_exhibit, replace_all

from parkade.experiments.figures.registry import FIGURES
from parkade.experiments.reproduce import reproduce

NAMES = ["one", "two"]


class Page(html.parser.HTMLParser):
    """Collects what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.images, self.sections, self.links, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "img":
            self.images.append(values["src"])
            assert values["alt"]
        if tag == "section":
            self.sections.append(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def text(tmp_path, monkeypatch):
    replace_all(monkeypatch, FIGURES, map(fake_exhibit, NAMES))
    reproduce(NAMES, tmp_path, seed=1)
    return (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_page_holds_everything_and_needs_nothing(text, tmp_path):
    page = Page(text)
    assert page.open == []
    assert page.sections == NAMES
    assert len(page.images) == len(NAMES)
    assert all(image.startswith("data:image/png;base64,") for image in page.images)
    outside = [link for link in page.links if "//" in link]
    assert outside == ["https://arxiv.org/abs/2411.04990"]
    for link in set(page.links) - set(outside):
        assert link.startswith("#") or (tmp_path / link).exists()


def test_each_section_tells_what_the_paper_says_what_we_measured_and_the_command(text):
    for name in NAMES:
        assert f"<code>parkade reproduce {name} --seed 1</code>" in text
        assert f"<blockquote>The paper on {name}.</blockquote>" in text
        assert f'<a href="{name}.csv">' in text
    assert text.count("<dt>seed</dt><dd>1</dd>") == 2


def test_text_is_escaped(text):
    assert "&amp; more." in text
    assert "<th>&lt;only&gt;</th>" in text
