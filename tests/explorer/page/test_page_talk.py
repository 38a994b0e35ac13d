"""Presentations: a page of 16:9 with large words, and a clicker."""

from __future__ import annotations

import pytest


@pytest.fixture
def talk(turned):
    """A reader of a presentation."""
    return turned("tour=2&talk=1")


def size(reader, name):
    return float(reader.get(f"parseFloat(getComputedStyle({name}).fontSize)"))


def test_it_is_large_and_has_no_controls(talk):
    heading = "document.getElementById('tour-title')"
    sizes, scales = [], []
    for width, height in [(1280, 720), (1920, 1080), (1024, 768)]:
        talk.resize(width, height)
        box = talk.page.locator("main").bounding_box()
        assert box["width"] / box["height"] == pytest.approx(16 / 9, rel=0.01)
        for side, whole, start in (("width", width, "x"), ("height", height, "y")):
            assert box[side] <= whole + 1
            assert box[start] == pytest.approx((whole - box[side]) / 2, abs=1)
        # But for the way out, which is outside the screen until it has the focus.
        assert talk.page.locator("button:visible, input:visible, select:visible").count() == 1
        assert talk.on("talk-leave").bounding_box()["y"] < 0
        words, picture = talk.on("tour").bounding_box(), talk.on("ball-box").bounding_box()
        assert words["x"] + words["width"] <= picture["x"] + 1
        text = talk.on("tour-text").bounding_box()
        assert text["y"] + text["height"] <= words["y"] + words["height"] + 1
        sizes.append(size(talk, heading) / box["width"])
        # The drawing scales too: its labels are painted larger, not only its circle.
        pen = "document.getElementById('ball').getContext('2d').getTransform().a"
        scales.append(float(talk.get(pen)) / box["width"])
    assert sizes == pytest.approx([0.036] * 3, rel=0.01)
    assert scales == pytest.approx([scales[0]] * 3, rel=0.02)


def test_a_clicker_goes_from_slide_to_slide(talk):
    seen = []
    for key in ["PageDown", "ArrowRight", "Enter", "PageUp", "ArrowLeft", "End", "Home"]:
        talk.press(key)
        seen.append(talk.text("tour-title"))
    assert seen == [
        "They gather, and wait",
        "They merge",
        "One is left, the first",
        "They merge",
        "They gather, and wait",
        "What β changes",
        "Tokens",
    ]
    assert talk.link == "tour=1&talk=1"
    talk.press("b")
    assert talk.page.locator("main").is_hidden()
    talk.press("PageDown")  # brings the slide back, and does not skip it
    assert talk.text("tour-title") == "Tokens"


def test_plateaus_are_slides(talk):
    """Without the tour, a run is presented from plateau to plateau."""
    talk.open("n=40&d=2&beta=36&T=1e20&t=0&talk=1")
    plateaus = talk.get("parkade.scene.plateaus.map(({ start }) => start)")
    assert len(plateaus) > 2
    for start in plateaus:
        talk.press("PageDown")
        assert talk.t == pytest.approx(start, rel=1e-6)
    talk.press("PageUp")
    assert talk.t == pytest.approx(plateaus[-2], rel=1e-6)
    talk.press("PageDown", "PageDown")
    assert talk.t == 1e20
    assert talk.on("story-text").is_visible()
    talk.press("Escape")
    assert talk.on("settings").is_visible()
    assert "talk" not in talk.link
    talk.click("talk-open")
    assert talk.on("settings").is_hidden()
    talk.on("talk-leave").focus()
    talk.press("Enter")
    assert talk.on("settings").is_visible()
