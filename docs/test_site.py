"""The built site in a Chromium: nothing goes wrong, scenes play, search finds. Run by make docs."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from pathlib import Path

import pytest
from check import problems
from playwright.sync_api import expect, sync_playwright
from support.reader import Reader

SITE = Path(__file__).parents[1] / "site"
PAGES = [
    "index.html",
    "start.html",
    "story.html",
    "recipes.html",
    "claims.html",
    "gallery/index.html",
    "gallery/1_first/2_staircase.html",
    "api/index.html",
    "api/generated/parkade.simulate.html",
    "project/changelog.html",
    "search.html?q=staircase",
]
DESKTOP, PHONE = {"width": 1366, "height": 900}, {"width": 390, "height": 844}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *args):
        """Nothing."""


@pytest.fixture(scope="module")
def origin():
    """Where the site is served."""
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    """A Chromium, without a network."""
    names = "chromium", "chromium-browser", "google-chrome"
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, names)), None)
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def reader(browser, origin):
    """Somebody on the site, who is told of everything that goes wrong."""
    visitor = Reader(browser.new_context(viewport=DESKTOP), origin)
    yield visitor
    visitor.context.close()
    assert not visitor.wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_goes_wrong(browser, origin, size, scheme):
    reader = Reader(browser.new_context(viewport=size, color_scheme=scheme), origin)
    for page in PAGES:
        reader.page.goto(f"{origin}/{page}")
        reader.page.wait_for_load_state("networkidle")
        assert reader.get("document.documentElement.dataset.theme") == scheme
        # Tables and code scroll by themselves; the page does not.
        assert reader.get("document.documentElement.scrollWidth <= innerWidth"), page
    reader.context.close()
    assert not reader.wrong


def test_scenes_play_and_time_can_be_dragged(reader):
    reader.page.goto(f"{reader.origin}/story.html")
    frames = reader.page.locator("figure.scene iframe")
    assert frames.count() == 4
    for i in range(4):
        frames.nth(i).scroll_into_view_if_needed()
        scene = frames.nth(i).content_frame
        line = scene.locator("#timeline")
        first = scene.locator("#t").inner_text()
        expect(scene.locator("#t")).not_to_have_text(first, timeout=20_000)  # it plays
        scene.locator("#play").click()
        line.scroll_into_view_if_needed()
        box = line.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + 0.8 * box["height"]  # below the labels
        reader.page.mouse.move(x, y)
        reader.page.mouse.down()
        middle = float(line.get_attribute("aria-valuenow"))
        reader.page.mouse.move(x + 0.4 * box["width"], y, steps=4)
        reader.page.mouse.up()
        assert float(line.get_attribute("aria-valuenow")) > middle + 300  # of 1000


def test_a_reader_changes_beta(reader):
    """Scenes compute by themselves, in the text."""
    reader.page.goto(f"{reader.origin}/story.html")
    frames = reader.page.locator("figure.scene iframe")
    for i in range(4):
        frames.nth(i).scroll_into_view_if_needed()
        scene = frames.nth(i).content_frame
        expect(scene.locator("html")).to_have_attribute("data-state", "ready", timeout=20_000)
        scene.locator("#beta").fill("25")
        scene.locator("#beta").blur()
        expect(scene.locator("html")).to_have_attribute("data-stale", "true")
        expect(scene.locator("html")).to_have_attribute("data-stale", "false", timeout=60_000)
        assert scene.locator("#beta-error").is_hidden()


def test_scenes_are_as_dark_as_the_site(reader):
    reader.page.goto(f"{reader.origin}/index.html")
    scene = reader.page.locator("figure.scene iframe").content_frame.locator("html")
    expect(scene).to_have_attribute("data-theme", "light")
    reader.page.locator("button.theme-switch-button").first.click()
    reader.page.locator("button[data-mode=dark]:visible").click()
    expect(reader.page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(scene).to_have_attribute("data-theme", "dark", timeout=20_000)


def test_search_finds_a_function(reader):
    reader.page.goto(f"{reader.origin}/index.html")
    reader.page.keyboard.press("Control+k")
    reader.page.locator("dialog[open] input, .search-button__wrapper.show input").first.fill(
        "log_meeting_time"
    )
    reader.page.keyboard.press("Enter")
    found = reader.page.locator("#search-results a", has_text="parkade.theory.log_meeting_time")
    found.first.click()
    reader.page.wait_for_url("**/parkade.theory.log_meeting_time.html*")
    assert "Examples" in reader.page.inner_text("article")


def test_the_check_of_links_notices(tmp_path):
    good = '<a id="here" href="#here">x</a><a href="https://example.org/">y</a>'
    (tmp_path / "a.html").write_text(good)
    assert not problems(tmp_path)
    for bad in (
        '<a href="b.html">',
        '<a href="#there">',
        '<img src="https://example.org/x.png">',
        '<link rel="stylesheet" href="//example.org/x.css">',
    ):
        (tmp_path / "a.html").write_text(good + bad)
        assert len(problems(tmp_path)) == 1, bad
