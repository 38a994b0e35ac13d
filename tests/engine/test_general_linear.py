"""The Jacobian by sums in linear time for any Q and K, against the one by direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from support.harmonics import any_queries, lone_pair, place, values
from support.linear_jacobians import linearized, solutions, tangent
from support.marks import both

import parkade as pk


@both
@pytest.mark.parametrize("norm", [1.0, 9.0, 64.0])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "frozen"])
def test_linearisation_is_that_of_direct_sums(held, kind, norm, d):
    for n, name, seed in ((100, "I", 0), (257, "diag", 1), (300, "random", 2)):
        x = place(kind, n, d, seed=n)
        frozen = pk.sphere.uniform(5, d, seed=3) if held else None
        weights = np.array([1.0, 2.5, 40.0, 0.3, 1.0]) if held else None
        model = any_queries(d, norm, seed, V=values(name, d))
        pair, other = linearized(model, x, frozen, weights)
        expected, found = pair[1], other[1]
        assert not found.lone.all()
        for part in ("queries", "mean", "velocity", "blocks"):
            one, two = getattr(found, part), getattr(expected, part)
            assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
        assert np.abs(found.shares[:2] - expected.shares[:2]).max() <= 1e-11
        assert np.array_equal(found.axes, expected.axes)
        # A shift beyond the growth rates, so that the system does not amplify errors itself.
        shift = 2 * np.abs(expected.blocks).max() + 1.0
        one, two = solutions(pair, other, x, tangent(x), shift)
        assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


@both
def test_what_a_token_feels_of_others_matters_in_these_tests(d):
    x = place("uniform", 300, d)
    pair, other = linearized(any_queries(d, 9.0), x)
    right = tangent(x)
    right[1:] = 0.0
    one, two = solutions(pair, other, x, right, 1.0)
    assert np.abs(one[1:]).max() > 1e-2 * np.abs(one[0]).max()
    assert np.abs(one - two)[1:].max() <= 1e-11 * np.abs(one[1:]).max()


@both
def test_a_lone_token_is_linearised_to_all_digits(d):
    x, turn = lone_pair(d, 2.1, n=100), np.eye(d)
    turn[0, 1], turn[1, 0] = -0.1, 0.1
    pair, other = linearized(pk.Attention(d, 64.0, Q=turn), x)
    expected, found = pair[1], other[1]
    assert found.lone[-2]
    assert not found.lone[-1]
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(found, part)[-2], getattr(expected, part)[-2]
        assert 0 < np.linalg.norm(two) < 1e-30
        assert np.linalg.norm(one - two) <= 1e-10 * np.linalg.norm(two), part
    right = tangent(x)
    right[-2:] = 0.0  # what the lone token does, it does because of those far away
    one, two = solutions(pair, other, x, right, 1.0)
    assert 0 < np.linalg.norm(one[-2]) < 1e-28
    assert np.linalg.norm(one[-2] - two[-2]) <= 1e-10 * np.linalg.norm(one[-2])


@both
@pytest.mark.parametrize("beta", [60.0, 600.0])
def test_tokens_far_from_their_queries_are_linearised_directly(beta, d):
    # With β = 600, weights relative to that of the token itself would overflow.
    x = place("one point", 60, d)
    x[:10] += 0.5 * pk.sphere.uniform(10, d, seed=2)
    x = pk.sphere.normalize(x)
    pair, other = linearized(pk.Attention(d, beta, Q=-1.0), x)
    expected, found = pair[1], other[1]
    assert found.lone.all()
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(found, part), getattr(expected, part)
        assert np.isfinite(two).all()
        assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
    shift = 2 * np.abs(expected.blocks).max() + 1.0
    one, two = solutions(pair, other, x, tangent(x), shift)
    assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()
