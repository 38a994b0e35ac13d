"""Two scenes side by side, with one clock."""

from __future__ import annotations

import numpy as np
import pytest
from support.pictures import same

from parkade.explorer import scene

LINK = "n=40&d=2&beta=36&T=1e6&seed=1"
SETTINGS = {"n": 40, "d": 2, "beta": 36, "T": 1e6, "seed": 1}


@pytest.fixture
def pair(turned):
    """A reader of two scenes."""
    return turned(f"{LINK}&t=30&beside=beta:9")


def names(reader):
    return [reader.text("beside-one"), reader.text("beside-other")]


def count(clusters):
    return f"{clusters} cluster{'' if clusters == 1 else 's'}"


def test_both_are_shown_at_the_same_time(pair):
    assert pair.get("parkade.beside.settings") == scene({**SETTINGS, "beta": 9})["settings"]
    merges = scene({**SETTINGS, "beta": 9})["merges"]
    for t in [0.5, 30, 1e5]:
        pair.go(t)
        left = 40 - sum(merge["t"] <= t for merge in merges)
        assert names(pair) == [f"β = 36: {pair.text('clusters')}", f"β = 9: {count(left)}"]
        one, other = pair.pictures("ball", "ball-beside")
        assert one.shape == other.shape
        assert not same(one, other)
    boxes = [pair.on(name).bounding_box() for name in ("ball", "ball-beside")]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] + 1
    assert "beside=beta:9" in pair.link


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("mask", "full", "full"), ("seed", 2, "seed 2"), ("norm", "pre", "pre-norm")],
)
def test_what_can_be_compared(pair, name, value, said):
    pair.select("beside", name)
    assert pair.get("parkade.beside.settings") == {**pair.settings, name: value}
    assert names(pair)[1].startswith(f"{said}: ")
    assert f"beside={name}:{value}" in pair.link


def test_another_value_and_another_run(pair):
    pair.on("beside").select_option("seed")
    pair.on("beside-value").locator("input").fill("5")
    pair.on("beside-value").locator("input").blur()
    pair.idle()
    assert pair.get("parkade.beside.settings.seed") == 5
    pair.type("beta", 16)  # the first scene is another one, and the second follows
    assert pair.get("parkade.beside.settings") == {**pair.settings, "seed": 5}
    assert pair.settings["beta"] == 16
    pair.click("undo")
    assert pair.get("parkade.beside.settings.beta") == 36
    pair.on("beside-value").locator("input").fill("many")
    pair.on("beside-value").locator("input").blur()
    pair.idle()
    pair.forgive("422")
    assert "seed must be a whole number" in pair.text("beside-text")
    pair.select("beside", "")
    assert pair.on("ball-beside").is_hidden()
    assert "beside" not in pair.link


def test_simulation_and_forecast(pair):
    """The forecast's clusters are those of its merges, where their leaders started."""
    pair.select("beside", "forecast")
    merges = pair.get("parkade.scene.forecast.merges")
    t = 1e3
    pair.go(t)
    joined = {merge["absorbed"]: merge["into"] for merge in merges if merge["t"] <= t}
    leaders = []
    for k in range(40):
        while k in joined:
            k = joined[k]
        leaders.append(k)
    at = "parkade.beside.moment(1e3)"
    assert pair.get(f"Array.from(parkade.beside.labelsAt({at}))") == leaders
    places = np.reshape(pair.get(f"Array.from(parkade.beside.tokensAt({at}))"), (40, 2))
    start = np.reshape(pair.get("Array.from(parkade.scene.frames.slice(0, 80))"), (40, 2))
    np.testing.assert_allclose(places, start[leaders], atol=1e-6)
    assert names(pair)[1] == f"forecast: {count(len(set(leaders)))}"
