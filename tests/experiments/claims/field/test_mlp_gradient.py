"""Attention with a gradient MLP: the energy is right, and wrong ones are refuted."""

import numpy as np
from support.experiments import changed, measured

import parkade as pk
from parkade.experiments.claims.field import mlp_gradient

small = changed(mlp_gradient, TOKENS=(6, 12), DIMENSIONS=(2,), TOL=1e-6)
evidence = measured(mlp_gradient)


def test_the_energy_rises(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["velocity minus gradient"] > 0
    presentable(mlp_gradient.CLAIM, evidence)


def test_a_network_that_is_no_gradient_is_refuted(distort, verdict):
    def wrong(drawn):
        network, signs = drawn
        return pk.MLP(network.W1, network.W2[::-1], activation="gelu"), signs

    distort(mlp_gradient, "draw_mlp", wrong)
    assert verdict(mlp_gradient) == "contradicts"


def test_falls():
    assert mlp_gradient.fall(np.array([0.0, 2.0, 1.5, 3.0])) == 0.5
