"""Clouds are seen for λ < 0, and not for λ > 0."""

import math

import numpy as np
import pytest
from support.experiments import changed

import parkade as pk
from parkade import theory
from parkade.experiments.claims.causal import clouds

half_of_the_tokens = changed(clouds, TOKENS=16)


@pytest.mark.parametrize(
    ("claim", "low", "high"), [(clouds.CLOUD, 3, 6), (clouds.TWO_CLOUDS, 15, 21)]
)
def test_the_clouds_are_seen(quick, presentable, claim, low, high):
    evidence = claim.measure(quick)
    assert evidence.verdict == "agrees"
    assert evidence.false_alarm <= 1e-6
    for when in ("t = 5000", "t = 1e+09"):
        seen = evidence.numbers[when]
        assert low < math.degrees(seen["angle"]) < high
        assert seen["distinct, least"] > 0.75
        assert seen.get("in the band", 0) < 0.05
        assert seen.get("smaller side, least", 1) > 0.2
    presentable(claim, evidence)


@pytest.mark.parametrize("V", [(1.0, 1.0, -1.0), (1.0, 0.5, 0.25)])
def test_collapse_is_no_cloud(quick, V):
    assert clouds.measure(V, quick).verdict == "contradicts"


def test_tokens_without_a_preference_are_no_cloud(quick, monkeypatch):
    # The eigenspace is that of the smallest eigenvalue, which tokens keep away from.
    exact = theory.final_configuration
    monkeypatch.setattr(theory, "final_configuration", lambda V: exact(-np.asarray(V)))
    assert clouds.measure((-2.0, -1.0, -1.0), quick).verdict == "contradicts"


@pytest.mark.parametrize("dim", [1, 2])
def test_the_mean_angle_of_uniform_tokens(dim):
    V = [1, 0, 0] if dim == 1 else [1, 1, 0]
    angle = theory.final_configuration(V).angles(pk.sphere.uniform(200_000, 3, seed=0))
    error = angle.std() / math.sqrt(len(angle))
    assert (
        abs(angle.mean() - clouds.UNIFORM[dim]) < 5 * error
    )  # fails by chance with a probability of 6e-7
