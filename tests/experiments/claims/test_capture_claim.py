import math

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims import capture, frozen
from parkade.experiments.claims.claim import Effort
from parkade.plots import new_figure

EFFORT = Effort(quick=True, seed=0, report=lambda fraction: None)


@pytest.fixture(scope="module")
def evidence():
    return capture.measure(EFFORT)


def test_everybody_is_captured(evidence):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert 0 <= numbers["farthest_in_radii"] < 0.1
    assert 1e100 < numbers["latest_capture"] < frozen.END
    assert numbers["outside_captured"][0] < 0.5 < 0.99 < numbers["outside_captured"][-1]


def test_centers_too_close_are_refuted(monkeypatch):
    monkeypatch.setattr(capture, "SETTINGS", (capture.SHOWN,))
    monkeypatch.setattr(capture, "SEPARATIONS", ())
    monkeypatch.setattr(capture, "smallest_separation", lambda setting: 1.5)
    assert capture.measure(EFFORT).verdict == "contradicts"


@pytest.mark.parametrize("packing", capture.PACKINGS)
def test_settings_are_those_of_the_theorem(packing):
    setting = capture.SHOWN
    c = frozen.smallest_separation(setting)
    run = frozen.freeze(setting, c, packing, np.random.default_rng(0))
    theta, weights = run.frozen, run.frozen_weights
    for i in range(1, len(theta)):
        assert pk.sphere.distance(theta[:i], theta[i]).min() > c / math.sqrt(setting.beta)
    assert weights.min() >= 1
    assert setting.n + weights.sum() == pytest.approx(setting.N)
    fits = 2 * math.pi * math.sqrt(setting.beta) / c
    count = {"dense": math.floor(fits), "lonely": 1}.get(packing, len(theta))
    assert len(theta) == count > 0


def test_it_can_be_drawn(evidence):
    figure = new_figure()
    capture.draw(evidence, figure)
    assert len(figure.axes) == 3
