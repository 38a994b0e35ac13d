"""The page as it comes: its first scene, its presets, and what it says about them."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support.reader import near

from parkade.explorer.presets import presets

PRESETS = {preset.name: preset for preset in presets()}


def test_load(opened):
    reader = opened()
    assert reader.page.title() == "parkade explorer"
    assert reader.get("document.documentElement.dataset.state") == "ready"
    # The address names nothing: the whole life is shown.
    scene = reader.scene()
    assert scene["settings"] == reader.settings == PRESETS["life"].settings.to_dict()
    assert reader.on("preset").input_value() == "life"
    np.testing.assert_allclose(np.linalg.norm(scene["frames"], axis=-1), 1, atol=1e-6)
    for name, value in reader.settings.items():
        if name in ("mask", "frozen", "encoding"):
            assert reader.on(f"{name}-{value}").is_checked()
        else:
            assert reader.on(name).input_value() == str(value).replace("e+", "e")
    # Reduced motion: the end is shown, and nothing moves.
    assert reader.get("parkade.t") == 1e60
    assert not reader.get("parkade.playing")
    assert reader.text("clusters").split()[0] == str(scene["clusters"][-1])
    assert "trusted to the end" in reader.text("status")
    assert reader.on("message").is_hidden()
    assert all(url.startswith(f"{reader.origin}/") for url in reader.asked)


def test_it_plays_by_itself(opened, small):
    reader = opened(small, reduced_motion="no-preference")
    expect(reader.on("time")).to_have_attribute("data-playing", "true")
    expect(reader.on("play")).to_have_attribute("aria-label", "Pause")
    reader.on("speed").select_option("0.25")  # so that it goes on for a minute
    first = reader.get("parkade.t")
    later = reader.page.evaluate(
        """first => new Promise((done) => {
          const look = () => (parkade.t > first ? done(parkade.t) : requestAnimationFrame(look));
          look();
        })""",
        first,
    )
    assert first < later < 100
    expect(reader.on("t")).not_to_have_text("0")
    reader.on("play").click()
    assert not reader.get("parkade.playing")


@pytest.mark.parametrize("name", PRESETS)
def test_presets(opened, name):
    """Each is chosen from the menu, says what it is, and is drawn in light and dark."""
    reader = opened("n=2&d=2&T=1")
    assert reader.on("preset").input_value() == ""
    reader.on("preset").select_option(name)
    reader.idle()
    preset = PRESETS[name]
    assert reader.settings == preset.settings.to_dict()
    assert reader.get("parkade.scene.settings") == preset.settings.to_dict()
    assert reader.text("about") == preset.about
    assert reader.on("preset").locator("option:checked").inner_text() == preset.title
    d = preset.settings.d
    assert reader.on("axes-note").is_visible() == (d > 3)
    assert reader.on("frozen-key").is_visible() == (name == "frozen")
    assert reader.on("show-caps").is_disabled() == (d > 3)
    front = [p for p in reader.places() if p[2] >= 0]
    assert len(front) > 0
    for theme in ["light", "dark"]:
        assert reader.get("document.documentElement.dataset.theme") == theme
        ball, *others = reader.pictures("ball", "timeline", "attention", "consumption")
        assert all(map(painted, [ball, *others]))
        # Tokens are seen where they are said to be: their place has not the ground's colour.
        ground = reader.color("ball")
        seen = [np.abs(near(ball, x, y, 0) - ground).max() > 60 for x, y, _ in front]
        assert np.mean(seen) > 0.95
        reader.press("d")


def painted(picture):
    """Whether there is a picture: many colours, of which none has everything."""
    _, counts = np.unique(picture @ [1, 256, 65536], return_counts=True)
    return len(counts) > 20 and counts.max() < 0.995 * counts.sum()


def test_theory(opened):
    """What is predicted and what was seen are told, and whether they agree."""
    reader = opened("n=8&T=1e6")
    theory = reader.scene()["theory"]
    assert theory["agrees"] is True
    assert reader.text("predicted").replace("x₁", "x_1") == theory["predicted"]
    assert reader.text("seen").replace("10⁶", "1e6") == theory["seen"]
    assert reader.text("agreement") == "✓ as predicted"
    assert reader.on("agreement").get_attribute("data-agrees") == "true"
    reader.on("mask-full").check()
    reader.idle()
    assert reader.text("predicted").startswith("Full attention has no leader")
    assert reader.text("agreement") == ""
