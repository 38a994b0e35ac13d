"""β that grows with depth: the run, the formula, the caption and the file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.explorer import frames

import parkade as pk
from parkade.explorer import Settings, scene
from parkade.explorer.settings.equation import equation
from parkade.explorer.settings.schema import FieldError

CHOSEN = {"n": 20, "d": 2, "beta": 4, "growth": 2, "T": 1e6}


def test_the_run_is_that_of_a_schedule():
    data = scene(CHOSEN)
    schedule = pk.Schedule.of(lambda t: 4 + 2 * np.log1p(t), 1e6)
    start = pk.sphere.uniform(20, 2, seed=1)
    run = pk.simulate(pk.Attention(d=2, beta=1.0), start, 1e6, schedule=schedule)
    assert np.abs(frames(data) - run.at(data["times"])).max() < 1e-4
    assert data["betas"] == [schedule(t) for t in data["times"]]
    assert data["betas"][0] == pytest.approx(4, abs=0.2)
    assert data["betas"][-1] == pytest.approx(4 + 2 * np.log(1e6), rel=0.01)
    assert data["beta"] == 4
    assert data["delta"] == Settings.read(CHOSEN).delta == 2
    # Without it, fewer clusters are left.
    assert data["clusters"][-1] > scene({**CHOSEN, "growth": 0})["clusters"][-1]


def test_formula_caption_and_name():
    data = scene({**CHOSEN, "T": 10})
    assert data["label"].endswith("seed 1, β(t) = β + 2 ln(1 + t)")
    assert data["file_name"] == "parkade-n20-d2-beta4-growth2-T10-seed1"
    assert data["facts"]["b"] == 2
    assert data["theory"]["predicted"] == "Nothing: the theory is for a constant β."
    text = json.dumps(data["equation"], ensure_ascii=False)
    assert text.count('["mi", "growth", "b"]') == 1
    other = equation(pk.Scheduled(pk.Attention(d=2), pk.Schedule([0, 1], [2, 3])))
    assert '"growth"' not in json.dumps(other)
    assert '["mi", null, "t"]' in json.dumps(other)


def test_what_cannot_grow():
    with pytest.raises(FieldError, match="β cannot grow while the norm changes") as caught:
        Settings(growth=1.0, norm="mix")
    assert caught.value.field == "growth"
    with pytest.raises(pk.InputError, match="number 0 has norm 'mix'"):
        pk.Scheduled(pk.Transformer([pk.Head(d=2)], norm="mix"), pk.Schedule([0, 1], [2, 3]))
