"""Layers with fresh random values: the recursion is seen, and a wrong one refuted."""

import numpy as np
import pytest
from support.experiments import fewer, measured

import parkade as pk
from parkade.experiments.claims.field import random_layers

quick = fewer(2)  # half of the runs
evidence = measured(random_layers)


def test_overlaps_are_as_derived(evidence, presentable):
    # Fails by chance with a probability of 1e-6: see allowed_sigmas.
    assert evidence.verdict == "agrees"
    presentable(random_layers.CLAIM, evidence)


def test_layers_have_the_law_of_the_models_layers():
    # 400 samples each; 5 standard errors are passed by chance with a probability below 1e-6.
    rng, d, step = np.random.default_rng(1), 16, random_layers.STEP
    x = random_layers.simplex(4, d, 0.3)
    ours = random_layers.overlaps(random_layers.layer(np.repeat(x[None], 400, axis=0), 2.0, rng))
    models = (
        pk.Transformer([pk.Head(V=rng.standard_normal((d, d)) / 4, beta=2.0)], mask="full")
        for _ in range(400)
    )
    theirs = [random_layers.overlaps(pk.forward(m, x, 1, step=step).tokens[-1]) for m in models]
    for some in (np.mean, np.std):
        a, b = some(ours, axis=0), some(theirs, axis=0)
        assert np.abs(a - b).max() < 5 * np.std(ours) * (2 / 400) ** 0.5


def test_the_simplex_has_equal_overlaps():
    x = random_layers.simplex(5, 8, 0.3)
    np.testing.assert_allclose(x @ x.T, 0.3 + 0.7 * np.eye(5), atol=1e-15)


def test_the_recursion_is_frozen_when_cold():
    assert random_layers.recursion(24, 60.0, 75)[-1] == pytest.approx(random_layers.FIRST)
    assert random_layers.recursion(24, 0.0, 400)[-1] > 0.99


def test_a_wrong_recursion_is_refuted(verdict):
    right = random_layers.recursion
    wrong = {"recursion": lambda n, beta, depth: right(n, beta + 2, depth), "DIMENSIONS": (32,)}
    assert verdict(random_layers, **wrong) == "contradicts"
