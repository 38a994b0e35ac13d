"""The counterexample with two tokens."""

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims.common.counterexample import counterexample


def test_the_counterexample_checks_by_hand():
    model, rest = counterexample()
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
