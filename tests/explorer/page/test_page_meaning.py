"""The page of `parkade meaning`: it works offline, finds words, and fits phones, in both themes."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect
from support.planted import FEW, NAMES, planted

from parkade.experiments.trained.meaning.page import write_page
from parkade.experiments.trained.meaning.rows import rows

TEXTS = ["".join(NAMES[i : i + 30]) for i in (0, 50, 200)]
STRANGE = ("x</script><b", *NAMES[1:])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Pages of a model with a line, and of one with a wheel."""
    pages = {}
    for turned in (False, True):
        model, _ = planted(3 + turned, turned=turned, names=STRANGE)
        data = model.meaning(texts=TEXTS, seed=1, draws=1999)
        folder = tmp_path_factory.mktemp("meaning")
        pages[turned] = write_page(data, rows(data), folder)[0]
    return pages


@pytest.fixture
def show(browser, written):
    """Opens a page without a network and fails if a script does."""
    contexts = []

    def make(turned=False, **options):
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(written[turned].as_uri())
        return page

    yield make
    for context in contexts:
        context.close()


def test_heads_are_shown_found_and_sorted(show):
    page = show()
    cards = page.locator("article")
    expect(cards).to_have_count(1)
    expect(cards.locator("h2")).to_contain_text("L0H0")
    expect(cards.locator(".plus li")).to_have_count(9)  # a sign, and eight words
    assert page.get_by_text("x</script><b").count() >= 1
    page.select_option("#show", "all")
    expect(cards).to_have_count(3)
    expect(page.locator("#count")).to_have_text("3 of 3")
    expect(cards.nth(2)).to_contain_text("no words: like a random direction")
    page.select_option("#sort", "layer")
    assert re.findall(r"L0 sum|L0H\d", " ".join(page.locator("h2").all_inner_texts())) == [
        "L0 sum", "L0H0", "L0H1",
    ]  # fmt: skip
    page.fill("#find", NAMES[FEW])
    hits = page.locator(".hit")
    expect(hits.first).to_have_text(NAMES[FEW])
    page.fill("#find", "L0H1")
    expect(cards).to_have_count(1)
    page.fill("#find", "nothing like it")
    expect(cards).to_have_count(0)


def test_a_wheel_is_drawn_as_one(show):
    page = show(turned=True)
    page.select_option("#show", "wheels")
    wheel = page.locator("article svg")
    expect(wheel).to_have_count(1)
    spokes = wheel.locator("line.spoke")
    ends = spokes.evaluate_all("lines => lines.map(l => [l.x2, l.y2].map(v => v.baseVal.value))")
    longest = sorted((x * x + y * y) ** 0.5 for x, y in ends)[-2 * FEW :]
    assert longest[0] > 0.9 * longest[-1]  # the planted words are on the rim
    boxes = wheel.locator("text").evaluate_all(
        "texts => texts.map(t => { const b = t.getBBox(); return [b.x, b.y, b.height]; })"
    )
    assert all(y >= -100 and y + height <= 100 for _, y, height in boxes)  # inside the picture
    for left in (True, False):
        tops = sorted(y for x, y, _ in boxes if (x < 0) == left)
        assert all(b - a > 8 for a, b in pairwise(tops))  # none on another


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_phones_and_both_themes(show, scheme, width):
    page = show(turned=True, viewport={"width": width, "height": 740}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "['color', 'backgroundColor'].map(p => getComputedStyle(document.body)[p])"
    )
    light = [sum(map(int, re.findall(r"\d+", c)[:3])) for c in (ink, paper)]
    assert (light[1] > light[0]) == (scheme == "light")
    assert abs(light[1] - light[0]) > 400
