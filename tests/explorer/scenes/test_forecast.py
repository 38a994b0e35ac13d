"""The forecast of a scene against the library's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import parkade as pk
from parkade.explorer import Settings, scene
from parkade.explorer.scenes import forecast
from parkade.explorer.scenes.build import build


def test_it_is_the_forecast_of_the_library():
    chosen = Settings(n=40, d=2, beta=16.0, T=1e9)
    shown = scene(chosen)["forecast"]
    tree = pk.theory.forecast(chosen.start, chosen.model)
    events = [e for e in tree.events if e.time <= 1e9]
    assert shown["merges"] == [
        {"t": e.time, "absorbed": e.absorbed, "into": e.into} for e in events
    ]
    seen = pk.simulate(chosen.model, chosen.start, 1e9).merge_tree()
    agreed = pk.clusters.agreement(tree, seen, shown["since"])
    assert (shown["right"], shown["seen"]) == (agreed.right.sum(), len(agreed.right))
    assert shown["seen"] > 0
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


@pytest.mark.parametrize(
    "changes",
    [{"mask": "full"}, {"V": "1,-1"}, {"V": "1,-1;1,1"}, {"frozen": "renyi"}],
)
def test_there_is_none_where_it_cannot_be(changes):
    assert scene({"n": 12, "d": 2, "beta": 16, "T": 1000, **changes})["forecast"] is None


def test_short_runs_have_none():
    chosen = {"n": 12, "d": 2, "beta": 16}
    assert scene({**chosen, "T": 1000})["forecast"] is not None
    assert scene({**chosen, "T": 999})["forecast"] is None


def test_there_is_none_where_it_would_take_long(monkeypatch):
    run = pk.simulate(pk.Attention(d=2, beta=16.0), pk.sphere.uniform(12, 2, seed=1), 1e3)
    assert build(run)["forecast"] is not None
    monkeypatch.setattr(forecast, "MOST_WORK", 100)
    assert build(run)["forecast"] is None
    monkeypatch.undo()
    monkeypatch.setattr(forecast, "MOST_TOKENS", 11)
    assert build(run)["forecast"] is None


def test_a_run_without_its_start_has_none():
    x0 = pk.sphere.uniform(12, 2, seed=1)
    assert build(pk.simulate(pk.Attention(2), x0, 1e3, times=[1.0, 1e3]))["forecast"] is None
    path = pk.Path(np.array([0.0, 1e3]), np.stack([x0, x0]))
    assert build(path)["forecast"] is None
