"""The conjecture for lines holds with Q = K = I, but not for all Q and K."""

import pytest
from support.experiments import changed

from parkade.experiments.claims.causal import two_points

dimensions = changed(two_points, DIMENSIONS=(2, 5))  # those whose engines other tests need as well


@pytest.fixture(scope="module")
def evidence(quick):
    return two_points.ANY_ATTENTION.measure(quick)


def test_with_identities_it_holds(quick, presentable):
    evidence = two_points.CLAIM.measure(quick)
    assert evidence.verdict == "agrees"
    assert evidence.numbers["ends"]["identity"]["reached"] == 16
    assert 0 < evidence.numbers["both signs"]["identity"] < 16
    assert not evidence.numbers["exceptions"]
    presentable(two_points.CLAIM, evidence)


def test_random_queries_and_keys_refute_it(evidence, presentable):
    assert evidence.verdict == "contradicts"
    assert evidence.numbers["ends"]["random"]["stable elsewhere"] >= 1
    for exception in evidence.numbers["exceptions"]:
        assert exception["off"] > 0.01
        assert exception["rate"] > 1e-3
    presentable(two_points.ANY_ATTENTION, evidence)


def test_without_other_queries_and_keys_it_would_stand(quick, monkeypatch):
    monkeypatch.setattr(two_points, "random_attention", lambda d, rng: (1.0, 1.0))
    monkeypatch.setattr(two_points, "rests", lambda model, tokens: False)
    monkeypatch.setattr(two_points, "DIMENSIONS", (2,))
    assert two_points.measure(["random"], quick).verdict == "agrees"
