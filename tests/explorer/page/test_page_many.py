"""Many seeds at once: their staircases, their mean, and the law of merges."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from playwright.sync_api import expect
from support.pictures import covered, same
from support.reader import download

import parkade as pk

LINK = "n=12&d=2&beta=16&T=2000&t=5"


@pytest.fixture
def crowd(turned):
    """A reader of a small run with the staircases of all seeds."""
    reader = turned(f"{LINK}&many=1")
    complete(reader)
    return reader


def complete(reader):
    """Wait until all seeds are there."""
    reader.wait("parkade.many.length === 100")
    expect(reader.on("seeds")).to_be_hidden()
    reader.idle()


def hold(reader, count):
    """Let the server answer `count` requests for staircases; a function lets it answer all."""
    asked, held = itertools.count(), []

    def answer(route):
        if next(asked) < count:
            route.continue_()
        else:
            held.append(route)

    def release():
        nonlocal count
        count = math.inf
        for route in held:
            route.continue_()
        reader.page.unroute("**/api/stairs")

    reader.page.route("**/api/stairs", answer)
    return release


def test_all_seeds_arrive(turned):
    reader = turned(LINK)
    before = reader.picture("timeline")
    reader.asked.clear()
    release = hold(reader, 40)
    reader.on("many").click()
    # Progress is shown, and in the end it is gone.
    expect(reader.on("seeds")).to_be_visible()
    expect(reader.on("seeds-text")).to_contain_text("40 %")
    release()
    complete(reader)
    runs = reader.get("parkade.many")
    asked = [url for url in reader.asked if url.endswith("/api/stairs")]
    assert len(asked) == 100
    assert not same(reader.picture("timeline"), before)
    # They are the merges of those starts. Requests overlap, so their order may differ.
    seen = [tuple(np.round(run["seen"], 6)) for run in runs]
    for seed in [2, 101]:
        x0 = pk.sphere.uniform(12, 2, seed=seed)
        run = pk.simulate(pk.Attention(d=2, beta=16.0), x0, 2000.0)
        times = sorted(event.time for event in run.merge_tree().events)
        close = [len(s) == len(times) and np.allclose(s, times, rtol=0.02) for s in seen]
        assert sum(close) == 1
    forecast = pk.theory.forecast(x0, beta=16.0)
    times = sorted(event.time for event in forecast.events if event.time <= 2000)
    assert any(
        len(run["forecast"]) == len(times) and np.allclose(run["forecast"], times, rtol=1e-3)
        for run in runs
    )


def test_the_means(crowd):
    runs = crowd.get("parkade.many")
    for kind in ["seen", "forecast"]:
        for t in [1.0, 50.0, 1900.0]:
            mean = 12 - np.mean([sum(time <= t for time in run[kind]) for run in runs])
            shown = crowd.page.evaluate("([kind, t]) => parkade.meanOfMany(kind, t)", [kind, t])
            assert shown == pytest.approx(mean)


def test_names_of_plateaus_leave_room_for_the_key(crowd):
    for width in (390, 1280):
        crowd.resize(width, 800)
        words = crowd.words("timeline")
        assert sum("seeds" in word["text"] or "law" in word["text"] for word in words) == 2
        assert covered(words) == [], width


def test_another_seed_keeps_them_and_another_setting_does_not(crowd):
    crowd.type("seed", 7)
    assert len(crowd.get("parkade.many")) == 100
    assert crowd.link.endswith("&many=1")
    crowd.type("beta", 9)
    assert crowd.get("parkade.many") == []
    expect(crowd.on("many")).to_have_attribute("aria-pressed", "false")
    assert "many" not in crowd.link


def test_it_can_be_cancelled(turned):
    """No request follows, and what has arrived stays."""
    reader = turned(f"{LINK}&seed=500")
    release = hold(reader, 40)
    reader.on("many").click()
    expect(reader.on("seeds-text")).to_contain_text("40 %")
    reader.on("seeds-cancel").click()
    reader.asked.clear()
    release()
    reader.idle()
    assert reader.asked == []
    assert len(reader.get("parkade.many")) == 40
    # They are in the link, and undo takes them away and brings them back.
    assert reader.link.endswith("&many=1")
    reader.click("undo")
    assert reader.get("parkade.many") == []
    assert "many" not in reader.link
    release = hold(reader, 10)
    reader.on("redo").click()
    expect(reader.on("seeds-text")).to_contain_text("10 %")
    reader.on("many").click()
    assert reader.get("parkade.many") == []
    release()


def test_a_link_to_them(opened, from_disk):
    """It computes them for whoever opens it; a page without a server shows the run alone."""
    reader = opened(f"{LINK}&many=1")
    reader.wait("parkade.many.length > 0")
    _, data = download(reader, "html")
    assert b"&amp;many=1" in data
    assert from_disk(data.decode()).get("parkade.many") == []


def test_a_refusal_of_the_server_is_shown_once(turned):
    """And no other seed is asked for."""
    reader = turned(f"{LINK}&seed=4")
    answer = json.dumps({"error": "stopped after 60 s; choose a smaller T or n", "field": None})
    reader.page.route("**/api/stairs", lambda route: route.fulfill(status=422, body=answer))
    reader.on("many").click()
    expect(reader.on("toast")).to_contain_text("stopped after 60 s")
    expect(reader.on("seeds")).to_be_hidden()
    reader.page.unroute_all()
    reader.forgive("422")
    assert reader.get("parkade.many") == []
    assert "many" not in reader.link
