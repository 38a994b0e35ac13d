"""On a machine that has to compile first, there is a picture at once, and a word about the wait."""

from __future__ import annotations

from playwright.sync_api import expect
from support.caches import copy_without
from support.explorer import explore
from support.reader import PATIENCE


def test_the_first_scene_is_there_before_the_compiler_is_done(browser, tmp_path):
    # A part of the engine that takes seconds; all of it would take twenty.
    with explore(**copy_without(tmp_path / "cache", "linear_time.whole")) as (_, origin):
        page = browser.new_page(reduced_motion="reduce")
        page.goto(origin)
        text = page.locator("#progress-text")
        expect(text).to_contain_text("compiling")
        assert page.evaluate("document.documentElement.dataset.state") == "computing"
        assert page.evaluate("parkade.scene.end") == 1e60  # and yet there is the life
        page.wait_for_timeout(1200)  # progress events come every second
        assert text.inner_text().startswith("compiling the engine (implicit, d=2")
        assert page.locator("#progress.waiting").is_visible()
        assert page.evaluate("document.documentElement.dataset.stale") == "false"
        expect(page.locator("#progress")).to_be_hidden(timeout=PATIENCE)
        assert page.evaluate("document.documentElement.dataset.state") == "ready"
        page.close()
