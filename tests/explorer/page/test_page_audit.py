"""An automatic audit of accessibility by axe-core, and a page moved by touch."""

from __future__ import annotations

from importlib import resources

import pytest
from playwright.sync_api import expect

RUN = """() => axe.run({ resultTypes: ['violations'] }).then(({ violations, passes }) => ({
  passes: passes.length,
  violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target)}`),
}))"""


@pytest.fixture(scope="module")
def audit():
    """Runs the rules of axe-core on the page of a reader; returns what is against them."""
    rules = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")

    def run(reader):
        if not reader.get("'axe' in window"):
            reader.page.evaluate(rules)  # not as an element: the page lets no other script in
        report = reader.page.evaluate(RUN)
        assert report["passes"] >= 20
        return report["violations"]

    return run


def test_nothing_is_against_the_rules(opened, audit):
    """The page, two scenes, the tour and presentations, in light and dark."""
    reader = opened("n=12&d=2&beta=16&T=100&t=3")
    for link in ["n=12&d=2&beta=16&T=100&t=3&beside=mask:full", "tour=3", "tour=6&talk=1"]:
        reader.page.goto(f"{reader.origin}/#{link}")
        reader.idle()
        for theme in ["dark", "light"]:
            reader.get(f"document.documentElement.dataset.theme === '{theme}'") or reader.press("d")
            assert audit(reader) == [], (link, theme)
    reader.press("Escape", "Escape", "?")
    assert reader.on("help").is_visible()
    reader.resize(390, 844)
    assert audit(reader) == []
    # And it would tell: a button without a name is against the rules.
    reader.get("document.getElementById('theme').removeAttribute('aria-label')")
    reader.get("document.getElementById('theme').removeAttribute('title')")
    reader.on("help").locator("button").click()
    assert audit(reader) == ["button-name: #theme"]


def test_by_touch(opened):
    """Tours, time and presentations can be moved with a finger."""
    reader = opened("tour=1", has_touch=True, viewport={"width": 390, "height": 844})
    reader.on("tour-next").tap()
    reader.idle()
    assert reader.text("tour-title") == "They park"
    box = reader.on("timeline").bounding_box()
    reader.on("timeline").tap(position={"x": 0.7 * box["width"], "y": box["height"] - 20})
    reader.idle()
    assert 1e20 < reader.t < 1e55
    reader.open("tour=2&talk=1")
    reader.resize(844, 390)
    expect(reader.on("tour-title")).to_have_text("They park")
    reader.page.touchscreen.tap(700, 150)
    expect(reader.on("tour-title")).to_have_text("They gather, and wait")
