"""Many seeds at once: their staircases, their mean, and the law of merges."""

from __future__ import annotations

import json

import numpy as np
import pytest
from playwright.sync_api import expect
from support.reader import same

import parkade as pk

LINK = "n=12&d=2&beta=16&T=2000&t=5"


@pytest.fixture(scope="module")
def crowd(tabs, server):
    """A reader of a small run, for all tests of this file."""
    reader = tabs[0]
    reader.begin(server)
    reader.open(LINK)
    yield reader
    reader.leave(f"{server}/static/icon.svg", {"width": 1280, "height": 800})
    assert not reader.wrong


def test_all_seeds_arrive(crowd):
    before = crowd.picture("timeline")
    crowd.on("many").click()
    # Progress is shown, and in the end it is gone.
    expect(crowd.on("seeds")).to_be_visible()
    expect(crowd.on("seeds-text")).to_contain_text("%")
    expect(crowd.on("seeds")).to_be_hidden()
    crowd.idle()
    runs = crowd.get("parkade.many")
    assert len(runs) == 100
    asked = [url for url in crowd.asked if url.endswith("/api/stairs")]
    assert len(asked) == 100
    assert not same(crowd.picture("timeline"), before)
    # They are the merges of those starts. Requests overlap, so their order may differ.
    seen = [tuple(np.round(run["seen"], 6)) for run in runs]
    for seed in [2, 101]:
        x0 = pk.sphere.uniform(12, 2, seed=seed)
        run = pk.simulate(pk.Attention(d=2, beta=16.0), x0, 2000.0)
        times = sorted(event.time for event in run.merge_tree().events)
        close = [len(s) == len(times) and np.allclose(s, times, rtol=0.02) for s in seen]
        assert sum(close) == 1
    told = pk.theory.forecast(x0, beta=16.0)
    times = sorted(event.time for event in told.events if event.time <= 2000)
    assert any(
        len(run["foretold"]) == len(times) and np.allclose(run["foretold"], times, rtol=1e-3)
        for run in runs
    )


def test_the_means(crowd):
    runs = crowd.get("parkade.many")
    for kind in ["seen", "foretold"]:
        for t in [1.0, 50.0, 1900.0]:
            mean = 12 - np.mean([sum(time <= t for time in run[kind]) for run in runs])
            found = crowd.page.evaluate("([kind, t]) => parkade.meanOfMany(kind, t)", [kind, t])
            assert found == pytest.approx(mean)


def test_another_seed_keeps_them_and_another_setting_does_not(crowd):
    crowd.type("seed", 7)
    assert len(crowd.get("parkade.many")) == 100
    crowd.type("beta", 9)
    assert crowd.get("parkade.many") == []
    expect(crowd.on("many")).to_have_attribute("aria-pressed", "false")


def test_it_can_be_cancelled(crowd):
    """No request follows, and what has arrived stays."""
    crowd.on("many").click()
    expect(crowd.on("seeds-text")).to_contain_text("%")
    crowd.on("seeds-cancel").click()
    crowd.idle()
    got = len(crowd.get("parkade.many"))
    assert 0 < got < 100
    before = len(crowd.asked)
    crowd.page.wait_for_timeout(300)
    assert len(crowd.asked) == before
    assert len(crowd.get("parkade.many")) == got
    crowd.on("many").click()
    assert crowd.get("parkade.many") == []


def test_the_limits_of_the_server_are_kept(crowd):
    """What the server refuses is told, once, and nothing goes on."""
    answer = json.dumps({"error": "stopped after 60 s; choose a smaller T or n", "field": None})
    crowd.page.route("**/api/stairs", lambda route: route.fulfill(status=422, body=answer))
    crowd.on("many").click()
    expect(crowd.on("toast")).to_contain_text("stopped after 60 s")
    expect(crowd.on("seeds")).to_be_hidden()
    crowd.page.unroute_all()
    crowd.forgive("422")
    assert crowd.get("parkade.many") == []
