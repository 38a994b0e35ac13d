"""The story: the life that the page opens on, the sentence over it, and notes on the picture."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support.pictures import covered, difference

MOVES = """() => new Promise((done) => {
  const moves = () => window.parkade?.scene && parkade.t > 0;
  const look = () => (moves() ? done(parkade.t) : setTimeout(look, 10));
  look();
})"""


@pytest.fixture
def life(opened):
    """A reader of the opening page."""
    return opened()


def test_it_opens_on_the_whole_life_and_plays(opened):
    reader = opened(wait=False, reduced_motion="no-preference")
    t = reader.page.evaluate(MOVES)
    assert reader.get("parkade.playing")
    assert t < reader.get("parkade.scene.end") == 1e60


def test_no_bar_covers_the_recorded_life(opened):
    """It is computed again, for the sake of the runs after it, and nobody has to wait for that."""
    held = []
    reader = opened(wait=False, routes={"**/api/run": lambda route: held.append(route)})
    reader.page.evaluate("() => parkade.ready")
    reader.until(lambda: held)
    # A run that takes longer than 150 ms shows its bar.
    reader.get("new Promise((done) => { setTimeout(done, 300); })")
    assert len(held) == 1
    assert reader.on("progress").is_hidden()
    held[0].continue_()
    reader.page.unroute_all()
    reader.idle()
    assert reader.state == "ready"


def test_the_sentence(life):
    merges = life.get("parkade.scene.merges")
    assert life.text("story-text") == (
        "200 tokens gather in eight clusters, which merge one by one: at t = 3.9·10⁴⁸ only the "
        "first token’s is left."
    )
    assert max(merge["t"] for merge in merges) == pytest.approx(3.9e48, rel=0.01)


def test_notes(life):
    """They are drawn where the picture is empty, for their moment, and can be left out."""
    merge = max(life.get("parkade.scene.merges")[:-1], key=lambda merge: merge["t"])
    life.go(merge["t"] * 1.001)
    with_notes = life.picture()
    life.press("a")
    assert not life.pressed("show-notes")
    without = life.picture()
    life.press("a")
    changed = np.argwhere(np.abs(with_notes - without).max(axis=-1) > 40)
    x, y = life.places()[merge["into"]][:2]
    words = (changed < [45, 240]).all(axis=1)
    ring = np.hypot(*(changed - [y, x]).T) < 45
    assert words.sum() > 300
    assert ring.sum() > 50
    assert (words | ring).all()
    assert difference(life.picture(), with_notes) == ""


def test_plateaus_can_be_clicked(life):
    plateaus = life.get("parkade.scene.plateaus")
    life.go(0)
    for start in plateaus[1]["start"], plateaus[-1]["start"]:
        spot = life.page.evaluate(
            "t => parkade.plateauNames.find(({ start }) => start === t)", start
        )
        life.on("timeline").click(position={"x": spot["x"] + spot["width"] - 4, "y": spot["y"] - 5})
        life.idle()
        assert life.t == pytest.approx(start, rel=1e-6)


def test_no_name_covers_a_note(life):
    """In half a picture, where there is little room beside the circle."""
    life.on("beside").select_option("forecast")
    for size in [(390, 844), (1366, 650)]:
        life.resize(*size)
        life.go(1e13)
        words = life.words("ball")
        assert any(word["text"].startswith("x₇ joins x₄ at") for word in words)
        assert covered(words) == [], size


def test_the_opening_can_be_left_and_returned_to(life):
    assert "n=200&d=2&beta=64&T=1e60" in life.link
    life.type("beta", 32)
    life.click("undo")
    assert life.settings["beta"] == 64
    assert life.get("parkade.scene.settings.beta") == 64
    expect(life.on("preset")).to_have_value("life")
