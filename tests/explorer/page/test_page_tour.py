"""The guided tour, by buttons, keys, links and the browser's own way back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.pictures import number_of

STEPS = 7


@pytest.fixture
def tour(turned):
    """A reader of the page's tour."""
    return turned("tour=1")


def step(reader, number):
    """Go to a step by its dot."""
    reader.on("tour-steps").locator("button").nth(number - 1).click()
    reader.idle()


def scene_of(reader):
    """The scene without its frames, which are large."""
    return reader.get(
        "(({ settings, beta, merges, plateaus, centers }) => "
        "({ settings, beta, merges, plateaus, centers }))(parkade.scene)"
    )


def numbers(text):
    """The times of a text, as numbers."""
    times = re.findall(r"t\s=\s([\d.]+)(?:·10([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text)
    return [float(lead) * 10.0 ** (number_of(power) if power else 0) for lead, power in times]


def test_what_it_says_is_what_is_shown(tour):
    """Each step has a scene, a time and a view of its own, and its numbers are the scene's."""
    titles, seen = [], []
    for number in range(1, STEPS + 1):
        step(tour, number)
        assert tour.text("tour-count") == f"{number} of {STEPS}"
        assert tour.get("location.hash") == f"#tour={number}"
        titles.append(tour.text("tour-title"))
        scene, t = scene_of(tour), tour.t
        state = scene["settings"]["V"], scene["beta"], t, tour.view["color"], tour.view["caps"]
        seen.append(state)
        merges = sorted(merge["t"] for merge in scene["merges"])
        known = [scene["plateaus"][0]["start"], merges[-1], 100.0]
        for time in numbers(tour.text("tour-text")):
            assert any(time == pytest.approx(value, rel=0.02) for value in known)
    assert len(set(titles)) == STEPS
    assert seen == [
        ("I", 64, 0, "position", False),
        ("I", 64, 0, "position", True),
        ("I", 64, pytest.approx(25), "cluster", False),
        ("I", 64, pytest.approx(1e16), "cluster", False),
        ("I", 64, 1e60, "cluster", False),
        ("1,0.5", 64, 1e60, "cluster", False),
        ("I", 16, 1e60, "cluster", True),
    ]
    step(tour, 2)
    counts = [len(scene_of(tour)["centers"][kind]) for kind in ("renyi", "strong")]
    assert counts == [8, 6]
    assert re.search(r"eight tokens park.*There are six\.", tour.text("tour-text"))


def test_only_the_tour_is_there(tour):
    """What explores is out of the way, and nothing overlaps."""
    for name in ["settings", "side", "legend", "theory", "story"]:
        assert tour.on(name).is_hidden()
    for width, height in [(1280, 800), (800, 600), (390, 844)]:
        tour.resize(width, height)
        boxes = [tour.on(name).bounding_box() for name in ("tour", "ball-box", "time")]
        for i, a in enumerate(boxes):
            for b in boxes[i + 1 :]:
                apart = [
                    a[side] + a[size] <= b[side] + 1 or b[side] + b[size] <= a[side] + 1
                    for side, size in (("x", "width"), ("y", "height"))
                ]
                assert any(apart)
        assert tour.get("document.documentElement.scrollWidth") <= width


def test_keys_buttons_and_the_way_back(tour):
    step(tour, 3)
    tour.press("PageDown")
    assert tour.text("tour-title") == "They merge"
    tour.press("PageUp", "PageUp")
    assert tour.text("tour-title") == "They park"
    tour.click("tour-back")
    assert tour.on("tour-back").is_disabled()
    tour.page.go_back()
    tour.idle()
    assert tour.text("tour-title") == "They park"
    # A screen reader hears the step, and the dots say where it is.
    live = tour.page.locator("#tour [aria-live=polite]")
    expect(live).to_contain_text("They park")
    current = tour.on("tour-steps").locator("[aria-current=step]")
    assert current.get_attribute("aria-label") == "Step 2: They park"


def test_leaving(tour):
    """What the last step shows can be explored at once."""
    step(tour, STEPS)
    assert tour.text("tour-next") == "Explore"
    tour.click("tour-next")
    assert tour.on("tour").is_hidden()
    assert tour.on("settings").is_visible()
    assert tour.settings["beta"] == 16
    assert "beta=16" in tour.link
    tour.type("beta", 32)
    assert tour.get("parkade.scene.beta") == 32
    tour.click("tour-open")
    tour.press("Escape")
    assert tour.on("tour").is_hidden()
    assert tour.settings["beta"] == 64


def test_a_step_plays(opened):
    """To where it ends, and no farther."""
    reader = opened("tour=3", reduced_motion="no-preference", clock=True)
    assert reader.text("tour-title") == "They gather, and wait"
    for _ in range(40):
        reader.page.clock.run_for(500)
        if not reader.get("parkade.playing"):
            break
    assert reader.t == pytest.approx(25)
