"""On a machine that has to compile first, there is a picture at once, and a word about the wait."""

from __future__ import annotations

from support.caches import copy_without
from support.explorer import explore

# Keeps what the page says while it computes, with its state at that moment.
_LISTEN = """
window.heard = [];
document.addEventListener('DOMContentLoaded', () => {
  const text = document.getElementById('progress-text');
  new MutationObserver(() => window.heard.push({
    text: text.textContent,
    seen: !document.getElementById('progress').hidden,
    waiting: document.getElementById('progress').classList.contains('waiting'),
    end: parkade.scene.end,
    ...document.documentElement.dataset,
  })).observe(text, { childList: true });
});
"""


def test_the_first_scene_is_there_before_the_compiler_is_done(browser, tmp_path):
    # A part of the engine that takes seconds; all of it would take twenty.
    with explore(**copy_without(tmp_path / "cache", "flow.linear_time.whole")) as (_, origin):
        page = browser.new_page(reduced_motion="reduce")
        page.add_init_script(_LISTEN)
        page.goto(origin)
        page.evaluate("parkade.ready.then(() => parkade.idle())")
        heard = page.evaluate("window.heard")
        assert page.evaluate("document.documentElement.dataset.state") == "ready"
        assert page.locator("#progress").is_hidden()
        page.close()
    # It is said again with each sign of life, and yet there is the life.
    notes = [moment for moment in heard if moment["text"].startswith("compiling the engine")]
    assert len(notes) >= 2
    assert notes[0]["text"].startswith("compiling the engine (implicit, d=2")
    for moment in notes:
        assert (moment["seen"], moment["waiting"], moment["end"]) == (True, True, 1e60)
        assert (moment["state"], moment["stale"]) == ("computing", "false")
