"""Pages of texts: words on tokens, layers on the time line, attention of each head."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade.explorer.scenes.words import Words
from parkade.explorer.standalone.export import show

WORDS = ["once", " upon", " a", " time", " there"]


@pytest.fixture
def reader(from_disk, tmp_path):
    rng = np.random.default_rng(0)
    path = pk.Path.normalized(range(5), rng.standard_normal((5, 5, 6)))
    weights = np.zeros((4, 2, 5, 5))
    weights[:, 0, :, 0] = 1  # head 1 attends to the first token
    weights[:, 1] = np.eye(5)  # head 2 to itself
    file = tmp_path / "text.html"
    file.write_text(show(path, Words(WORDS, "a tale", weights)).text, encoding="utf-8")
    return from_disk(file, "")


def test_words_layers_and_heads_are_shown(reader):
    assert reader.text("shown") == "a tale"
    page = reader.page
    page.evaluate("parkade.goTo(2)")
    page.locator("#token").fill("4")
    page.evaluate("parkade.idle()")
    assert page.locator("#readout").inner_text().startswith("layer 2")
    assert page.evaluate("parkade.scene.moment(1)") == 0.25
    said = page.locator("#token-text")
    assert said.inner_text().startswith("“time”")
    assert "itself by 50 %, most to “once” (50 %)" in said.inner_text()
    page.locator("#head").select_option(label="head 2")
    page.evaluate("parkade.idle()")
    assert "itself by 100 %" in said.inner_text()
    page.locator("#head").select_option(label="head 1")
    page.evaluate("parkade.idle()")
    assert "itself by 0 %, most to “once” (100 %)" in said.inner_text()
    page.locator("#token").fill("")
    page.evaluate("parkade.idle()")
    assert "logarithmic" not in page.locator("#facts").inner_text()


def test_the_time_line_counts_layers(reader):
    reader.page.locator("#timeline").press("Home")
    reader.page.evaluate("parkade.idle()")
    assert reader.page.locator("#readout").inner_text().startswith("layer 0")
    reader.page.locator("#timeline").press("End")
    reader.page.evaluate("parkade.idle()")
    assert reader.page.locator("#readout").inner_text().startswith("layer 4")
