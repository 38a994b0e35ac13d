"""Pages of texts: words on tokens, layers on the time line, attention of each head."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade.explorer.scenes.text import Text
from parkade.explorer.standalone.export import show

WORDS = ["once", " upon", " a", " time", " there"]


@pytest.fixture
def reader(from_disk):
    rng = np.random.default_rng(0)
    path = pk.Path.normalized(range(5), rng.standard_normal((5, 5, 6)), words=WORDS)
    weights = np.zeros((4, 2, 5, 5))
    weights[:, 0, :, 0] = 1  # head 1 attends to the first token
    weights[:, 1] = np.eye(5)  # head 2 to itself
    return from_disk(show(path, Text("a tale", weights)).text)


def test_words_layers_and_heads_are_shown(reader):
    assert reader.text("shown") == "a tale"
    reader.go(2)
    reader.type("token", 4)
    assert reader.text("readout").startswith("layer 2")
    assert reader.get("parkade.scene.moment(1)") == 0.25
    assert reader.text("token-text").startswith("“time”")
    for head, sentence in [
        (None, "itself by 50 %, most to “once” (50 %)"),  # the mean
        ("head 2", "itself by 100 %"),
        ("head 1", "itself by 0 %, most to “once” (100 %)"),
    ]:
        if head:
            reader.on("head").select_option(label=head)
            reader.idle()
        assert sentence in reader.text("token-text")
    reader.type("token", "")
    assert "logarithmic" not in reader.text("facts")


def test_the_time_line_counts_layers(reader):
    for key, layer in [("Home", "layer 0"), ("End", "layer 4")]:
        reader.on("timeline").press(key)
        reader.idle()
        assert reader.text("readout").startswith(layer)
