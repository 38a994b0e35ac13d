"""The page as it comes: its first scene, and what it says about it."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect

from parkade.explorer.scenes.recorded import LIFE


def test_load(opened):
    reader = opened()
    assert reader.page.title() == "parkade explorer"
    assert reader.state == "ready"
    # The address names nothing: the whole life is shown.
    scene = reader.scene()
    assert scene["settings"] == reader.settings == LIFE.to_dict()
    assert reader.value("preset") == "life"
    np.testing.assert_allclose(np.linalg.norm(scene["frames"], axis=-1), 1, atol=1e-6)
    for name, value in reader.settings.items():
        if name in ("mask", "frozen", "encoding"):
            assert reader.on(f"{name}-{value}").is_checked()
        else:
            assert reader.value(name) == str(value).replace("e+", "e")
    # Reduced motion: the end is shown, and nothing moves.
    assert reader.t == 1e60
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
    first = reader.t
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


def test_theory(turned):
    """What is predicted and what was seen are told, and whether they agree."""
    reader = turned("n=8&T=1e6")
    theory = reader.scene()["theory"]
    assert theory["agrees"] is True
    assert reader.text("predicted").replace("x₁", "x_1") == theory["predicted"]
    assert reader.text("seen").replace("10⁶", "1e6") == theory["seen"]
    assert reader.text("agreement") == "✓ as predicted"
    assert reader.on("agreement").get_attribute("data-agrees") == "true"
    reader.check("mask-full")
    assert reader.text("predicted").startswith("Full attention has no leader")
    assert reader.text("agreement") == ""
