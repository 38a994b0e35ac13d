"""The presets of the page: chosen from its menu, described, and drawn."""

from __future__ import annotations

import numpy as np
import pytest
from support.pictures import near

from parkade.explorer.settings.presets import presets

PRESETS = {preset.name: preset for preset in presets()}


@pytest.mark.parametrize("name", PRESETS)
def test_presets(turned, name):
    """Each is chosen from the menu, says what it is, and is drawn: in dark, then in light."""
    reader = turned("n=2&d=2&T=1")
    assert reader.value("preset") == ""
    reader.select("preset", name)
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
    themes = set()
    for _ in range(2):
        reader.press("d")
        themes.add(reader.theme)
        ball, *others = reader.pictures("ball", "timeline", "attention", "consumption")
        assert all(map(painted, [ball, *others]))
        # Tokens are seen where they are said to be: their place has not the ground's colour.
        ground = reader.color("ball")
        seen = [np.abs(near(ball, x, y, 0) - ground).max() > 60 for x, y, _ in front]
        assert np.mean(seen) > 0.95
    assert len(themes) == 2


def painted(picture):
    """Whether there is a picture: many colours, of which none has everything."""
    _, counts = np.unique(picture @ [1, 256, 65536], return_counts=True)
    return len(counts) > 20 and counts.max() < 0.995 * counts.sum()
