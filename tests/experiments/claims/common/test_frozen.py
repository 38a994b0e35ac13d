"""Frozen centres are as Theorem 5.2 demands."""

import math

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims.causal import capture
from parkade.experiments.claims.common import frozen


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
