"""The forecast on the time line: drawn, switched off, explained, and absent where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support.pictures import along, difference

import parkade as pk
from parkade.explorer.scenes.build import build
from parkade.explorer.standalone.export import page

LIFE = "n=40&d=2&beta=16&T=1e9&t=1e5"


def amount(reader):
    """How many pixels of the time line have the colour of the forecast."""
    away = np.abs(reader.picture("timeline") - reader.color("forecast")).max(axis=2)
    return int((away < 40).sum())


def test_it_is_drawn_and_can_be_switched_off(turned):
    reader = turned(LIFE)
    whole = reader.picture("timeline")
    assert amount(reader) > 100
    assert reader.pressed("show-forecast")
    reader.press("f")
    assert amount(reader) == 0
    assert not reader.pressed("show-forecast")
    assert "show=trails,renyi,strong,caps,names" in reader.link
    reader.on("show-forecast").click()
    reader.point()
    assert difference(reader.picture("timeline"), whole) == ""
    assert "show" not in reader.link


def test_it_says_how_many_were_right(turned):
    reader = turned(LIFE)
    forecast = reader.get("parkade.scene.forecast")
    title = reader.on("show-forecast").get_attribute("title")
    assert f"{forecast['right']} of {forecast['seen']} partner" in title


def test_a_merge_shows_what_was_seen_and_forecast(turned):
    reader = turned(LIFE)
    merge = reader.get("parkade.scene.merges.at(-1)")
    box = reader.on("timeline").bounding_box()
    place = along(box["width"], reader.get(f"parkade.scene.moment({merge['t']})"))
    reader.page.mouse.move(box["x"] + place, box["y"] + 60)
    expect(reader.on("time-tip")).to_be_visible()
    seen, forecast = reader.text("time-tip").splitlines()[1:]
    assert seen.startswith("seen: joins x₁ at t = ")
    assert forecast.startswith("forecast: joins x₁ at t = ")
    reader.page.mouse.move(5, 5)
    expect(reader.on("time-tip")).to_be_hidden()


def test_nothing_is_shown_where_there_is_none(turned):
    reader = turned("n=12&d=2&beta=16&T=100&mask=full")
    assert not reader.on("show-forecast").is_visible()
    assert amount(reader) == 0


@pytest.mark.parametrize("there", [True, False])
def test_a_file_shows_the_forecast_that_it_has(from_disk, there):
    """The scene of an older version has none."""
    run = pk.simulate(pk.Attention(d=2, beta=16.0), pk.sphere.uniform(20, 2, seed=1), 1e6)
    scene = build(run)
    if not there:
        del scene["forecast"]
    reader = from_disk(page(scene))
    assert reader.on("show-forecast").is_visible() == there
    assert (amount(reader) > 100) if there else (amount(reader) == 0)
