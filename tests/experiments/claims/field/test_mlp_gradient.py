"""Attention with a gradient MLP: the energy is right, and wrong ones are refuted."""

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims.field import mlp_gradient


@pytest.fixture(scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlp_gradient, "TOKENS", (6, 12))
        patch.setattr(mlp_gradient, "DIMENSIONS", (2,))
        patch.setattr(mlp_gradient, "TOL", 1e-6)
        yield


@pytest.fixture(scope="module")
def evidence(quick, small):
    return mlp_gradient.measure(quick)


def test_the_energy_rises(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["velocity minus gradient"] > 0
    presentable(mlp_gradient.CLAIM, evidence)


def test_a_network_that_is_no_gradient_is_refuted(quick, small, monkeypatch):
    true = mlp_gradient.draw_mlp

    def wrong(d, rng):
        network, signs = true(d, rng)
        return pk.MLP(network.W1, network.W2[::-1], activation="gelu"), signs

    monkeypatch.setattr(mlp_gradient, "draw_mlp", wrong)
    assert mlp_gradient.measure(quick).verdict == "contradicts"


def test_falls():
    assert mlp_gradient.fall(np.array([0.0, 2.0, 1.5, 3.0])) == 0.5
