import math

import numpy as np
import pytest
from support.experiments import fewer, measured

import parkade as pk
from parkade import theory
from parkade.experiments.claims.causal import strong_stay

quick = fewer(2)  # half of the runs
evidence = measured(strong_stay, TOKENS=(50, 100, 150))


def test_centers_stay(evidence, presentable):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert 0.01 < numbers["largest_share_of_radius"] < 1
    assert numbers["centers"] > 300
    assert numbers["least_stay_over_guarantee"] > 1
    assert len(presentable(strong_stay.CLAIM, evidence).axes) == 2


def test_a_longer_guarantee_is_refuted(distort, verdict):
    distort(theory, "strong_center_guarantee", lambda stay: stay._replace(time=1000 * stay.time))
    assert verdict(strong_stay, BETAS=(64.0,)) == "contradicts"


def test_how_far_and_how_long(monkeypatch):
    # With equal weights tan(φ/2) falls like e^{-t/2}, from φ = 2 here.
    def angle(t):
        return 2 * math.atan(math.tan(1.0) * math.exp(-t / 2))

    run = pk.simulate(pk.Attention(d=2, beta=0.0), pk.sphere.from_angles([0, 2.0]), 10.0)
    stay = theory.StrongCenters(*np.array([[np.inf, 2], [np.inf, 1], [0, 0.5], [np.inf, 0.7]]))
    monkeypatch.setattr(theory, "strong_center_guarantee", lambda *_: stay)
    ((guaranteed, share, left),) = strong_stay.follow(run, 0.1)
    assert guaranteed == 0.7
    assert share == pytest.approx((2 - angle(0.7)) / 0.5, rel=1e-4)
    exact = 2 * math.log(math.tan(1.0) / math.tan(0.75))
    assert exact <= left < 1.3 * exact
