"""The page in Firefox: drawn, toured, presented, side by side."""

from __future__ import annotations

import numpy as np
import pytest
from support.explorer import wait_for
from support.firefox import FIREFOX, PAGE_DOWN, firefox
from support.pictures import pixels

from parkade.explorer import scene
from parkade.explorer.standalone.export import page

pytestmark = pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox; say make firefox")


def painted(png, box):
    """How many colours are in a part of a picture."""
    x, y, w, h = (round(side) for side in box)
    return len(np.unique(pixels(png)[y : y + h, x : x + w] @ [1, 256, 65536]))


BOX = """(({ x, y, width, height }) => [x, y, width, height])(
  document.getElementById('%s').getBoundingClientRect())"""


async def visit(server, live, profile):
    async with firefox(profile) as tab:
        title = "document.getElementById('tour-title').textContent"
        boxes = [BOX % name for name in ("ball", "timeline")]

        async def seen():
            picture = await tab.screenshot()
            return [painted(picture, await tab.get(box)) for box in boxes]

        await tab.open(f"{server}/#n=12&d=3&beta=9&T=100&t=3")
        assert await tab.get("parkade.t") == pytest.approx(3)
        assert min(await seen()) > 30
        await tab.open(f"{server}/#n=12&d=3&beta=9&T=100&t=3&beside=mask:full")
        assert await tab.get("parkade.beside.settings.mask") == "full"
        await tab.open(f"{server}/#tour=3")
        assert await tab.get(title) == "They gather, and wait"
        await tab.press(PAGE_DOWN)
        assert await tab.get(title) == "They merge"
        assert await tab.get("parkade.t") == pytest.approx(1e16)
        await tab.open(f"{server}/#tour=5&talk=1")
        await tab.press(PAGE_DOWN)
        assert await tab.get(title) == "What V changes"
        assert min(await seen()) > 30
        # A page that computes by itself, from a disk.
        await tab.open(f"{live.as_uri()}#beta=4")
        assert await tab.get("document.documentElement.dataset.state") == "ready"
        assert await tab.get("parkade.scene.settings.beta") == 4
        expected = scene({"n": 12, "d": 2, "beta": 4.0, "T": 100.0})
        assert await tab.get("parkade.scene.theory") == expected["theory"]
        assert await tab.get("parkade.scene.clusters") == expected["clusters"]
        assert await tab.get("parkade.scene.times") == pytest.approx(expected["times"], rel=1e-8)
        assert min(await seen()) > 30
        assert tab.wrong == []


def test_firefox(server, tmp_path):
    live = tmp_path / "live.html"
    live.write_text(page(scene({"n": 12, "d": 2, "T": 100.0}), live=True), encoding="utf-8")
    (tmp_path / "profile").mkdir()
    wait_for(visit(server, live, tmp_path / "profile"))
