"""The Jacobian by sums in linear time for any Q and K, against the one by direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from support.harmonics import any_queries, lone_pair, place, values
from support.linear_jacobians import felt, linearized, solution
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
        works = linearized(model, x, None, frozen, weights)
        expected, result = (work.lin for work in works)
        assert not result.lone.all()
        for part in ("queries", "mean", "velocity", "blocks"):
            one, two = getattr(result, part), getattr(expected, part)
            assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
        assert np.abs(result.shares[:2] - expected.shares[:2]).max() <= 1e-11
        assert np.array_equal(result.axes, expected.axes)
        one, two = map(solution, works)
        assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


@both
def test_what_a_token_feels_of_others_matters_in_these_tests(d):
    x = place("uniform", 300, d)
    model = any_queries(d, 9.0)
    one, two = (felt(work, x, 1.0) for work in linearized(model, x, 1.0))
    assert np.abs(one).max() > 0.3 * np.abs(model.velocity(x)).max()
    assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


@both
def test_a_lone_token_is_linearised_to_all_digits(d):
    x, turn = lone_pair(d, 2.1, n=100), np.eye(d)
    turn[0, 1], turn[1, 0] = -0.1, 0.1
    works = linearized(pk.Attention(d, 64.0, Q=turn), x, 1.0)
    expected, result = (work.lin for work in works)
    assert result.lone[-2]
    assert not result.lone[-1]
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(result, part)[-2], getattr(expected, part)[-2]
        assert 0 < np.linalg.norm(two) < 1e-30
        assert np.linalg.norm(one - two) <= 1e-10 * np.linalg.norm(two), part
    one, two = map(solution, works)
    assert 0 < np.linalg.norm(one[-2]) < 1e-28
    assert np.linalg.norm(one[-2] - two[-2]) <= 1e-10 * np.linalg.norm(one[-2])
    # Much of what the lone token does, it does because of what those far away do.
    changed = felt(works[0], x, 1.0)[-2]
    assert np.linalg.norm(changed) > 0.05 * np.linalg.norm(expected.velocity[-2])


@both
@pytest.mark.parametrize("beta", [60.0, 600.0])
def test_tokens_far_from_their_queries_are_linearised_directly(beta, d):
    # With β = 600, weights relative to that of the token itself would overflow.
    x = place("one point", 60, d)
    x[:10] += 0.5 * pk.sphere.uniform(10, d, seed=2)
    x = pk.sphere.normalize(x)
    works = linearized(pk.Attention(d, beta, Q=-1.0), x)
    expected, result = (work.lin for work in works)
    assert result.lone.all()
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(result, part), getattr(expected, part)
        assert np.isfinite(two).all()
        assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
    one, two = map(solution, works)
    assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()
