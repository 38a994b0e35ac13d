"""The conjecture for lines holds with Q = K = I, but not for all Q and K."""

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims import two_points


@pytest.fixture(scope="module")
def evidence(quick):
    return two_points.ANY_ATTENTION.measure(quick)


def test_with_identities_it_holds(quick, presentable):
    evidence = two_points.CLAIM.measure(quick)
    assert evidence.verdict == "agrees"
    assert evidence.numbers["ends"]["identity"]["reached"] == 24
    assert 0 < evidence.numbers["both signs"]["identity"] < 24
    assert not evidence.numbers["exceptions"]
    presentable(two_points.CLAIM, evidence)


def test_random_queries_and_keys_refute_it(evidence, presentable):
    assert evidence.verdict == "contradicts"
    assert evidence.numbers["ends"]["random"]["stable elsewhere"] >= 1
    for exception in evidence.numbers["exceptions"]:
        assert exception["off"] > 0.01
        assert exception["rate"] > 1e-3
    presentable(two_points.ANY_ATTENTION, evidence)


def test_the_counterexample_checks_by_hand():
    model, rest = two_points.counterexample()
    x1, x2 = rest
    weights = np.exp([x2 @ model.Q.T @ x1, x2 @ model.Q.T @ x2])
    assert weights[0] / weights[1] == pytest.approx(1 / 4)
    pull = weights @ (rest @ model.V)
    np.testing.assert_allclose(pull[0] * x2[1], pull[1] * x2[0], rtol=1e-14)
    for degrees in (105, 140, 170):
        start = pk.sphere.from_angles(np.radians([0, degrees]))
        final = pk.simulate(model, start, 1e6).final
        assert np.degrees(pk.sphere.angles(final)[1]) == pytest.approx(120, abs=1e-6)
    # With Q = K = I the same start goes to −ξ.
    final = pk.simulate(pk.Attention(V=model.V), pk.sphere.from_angles([0, 2.5]), 1e6).final
    np.testing.assert_allclose(final[1], [-1, 0], atol=1e-6)


def test_without_other_queries_and_keys_it_would_stand(quick, monkeypatch):
    monkeypatch.setattr(two_points, "random_attention", lambda d, rng: (1.0, 1.0))
    monkeypatch.setattr(two_points, "rests", lambda model, tokens: False)
    monkeypatch.setattr(two_points, "DIMENSIONS", (2, 3))
    assert two_points.measure(["random"], quick).verdict == "agrees"
