"""The Jacobian by sums in linear time, against the one by direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from support.harmonics import any_queries, lone_pair, place, values
from support.linear_jacobians import felt, linearized, solution
from support.marks import both

import parkade as pk


def check_linearisation(works, parts):
    """Compare parts of the linearised flow, and the solution of a linear system."""
    expected, result = (work.lin for work in works)
    for part in parts:
        one, two = getattr(result, part), getattr(expected, part)
        assert np.isfinite(two).all()
        assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
    assert np.array_equal(result.axes, expected.axes)
    one, two = map(solution, works)
    assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


def held_tokens(held, d):
    """Frozen tokens and their weights, or none."""
    if not held:
        return None, None
    return pk.sphere.uniform(5, d, seed=3), np.array([1.0, 2.5, 40.0, 0.3, 1.0])


kinds = pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
free_or_frozen = pytest.mark.parametrize("held", [False, True], ids=["free", "frozen"])


@both
@pytest.mark.parametrize("beta", [1.0, 9.0, 64.0])
@pytest.mark.parametrize("name", ["I", "diag", "random"])
@kinds
@free_or_frozen
def test_linearisation_is_that_of_direct_sums(held, kind, name, beta, d):
    for n in (100, 257, 300):
        x, model = place(kind, n, d, seed=n), pk.Attention(d, beta, V=values(name, d))
        works = linearized(model, x, None, *held_tokens(held, d))
        check_linearisation(works, ("shares", "queries", "mean", "velocity", "blocks"))


@both
@pytest.mark.parametrize("norm", [1.0, 9.0, 64.0])
@kinds
@free_or_frozen
def test_linearisation_with_any_queries_is_that_of_direct_sums(held, kind, norm, d):
    for n, name, seed in ((100, "I", 0), (257, "diag", 1), (300, "random", 2)):
        x, model = place(kind, n, d, seed=n), any_queries(d, norm, seed, V=values(name, d))
        works = linearized(model, x, None, *held_tokens(held, d))
        check_linearisation(works, ("queries", "mean", "velocity", "blocks"))
        expected, result = (work.lin for work in works)
        assert not result.lone.all()
        assert np.abs(result.shares[:2] - expected.shares[:2]).max() <= 1e-11


@both
@pytest.mark.parametrize("family", ["I", "any"])
def test_what_a_token_feels_of_others_matters_in_these_tests(family, d):
    # Were off-diagonal blocks small against the diagonal, solutions would not show them.
    x, model = place("uniform", 300, d), pk.Attention(d, 9.0)
    if family == "any":
        model = any_queries(d, 9.0)
    one, two = (felt(work, x, 1.0) for work in linearized(model, x, 1.0))
    assert np.abs(one).max() > 0.3 * np.abs(model.velocity(x)).max()
    assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


def check_lone_token(works, x, largest, largest_step):
    """Compare the lone token of `lone_pair` relative to what is there, however small."""
    expected, result = (work.lin for work in works)
    assert result.lone[-2]
    assert not result.lone[-1]
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(result, part)[-2], getattr(expected, part)[-2]
        assert 0 < np.linalg.norm(two) < largest
        assert np.linalg.norm(one - two) <= 1e-10 * np.linalg.norm(two), part
    one, two = map(solution, works)
    assert 0 < np.linalg.norm(one[-2]) < largest_step
    assert np.linalg.norm(one[-2] - two[-2]) <= 1e-10 * np.linalg.norm(one[-2])
    # Much of what the lone token does, it does because of what those far away do.
    changed = felt(works[0], x, 1.0)[-2]
    assert np.linalg.norm(changed) > 0.05 * np.linalg.norm(expected.velocity[-2])


@both
@pytest.mark.parametrize("angle", [1.9, 2.3])
def test_a_lone_token_is_linearised_to_all_digits(angle, d):
    # β = 64: weights of 1e-37 and 1e-47.
    x = lone_pair(d, angle)
    works = linearized(pk.Attention(d, 64.0), x, 1.0)
    check_lone_token(works, x, 1e-32, 1e-30)
    expected, result = (work.lin for work in works)
    assert result.shares[1, -2] == pytest.approx(expected.shares[1, -2], rel=1e-10)


@both
def test_a_lone_token_is_linearised_to_all_digits_with_any_queries(d):
    x, turn = lone_pair(d, 2.1, n=100), np.eye(d)
    turn[0, 1], turn[1, 0] = -0.1, 0.1
    check_lone_token(linearized(pk.Attention(d, 64.0, Q=turn), x, 1.0), x, 1e-30, 1e-28)


@both
@pytest.mark.parametrize("beta", [60.0, 600.0])
def test_tokens_far_from_their_queries_are_linearised_directly(beta, d):
    # With β = 600, weights relative to that of the token itself would overflow.
    x = place("one point", 60, d)
    x[:10] += 0.5 * pk.sphere.uniform(10, d, seed=2)
    x = pk.sphere.normalize(x)
    works = linearized(pk.Attention(d, beta, Q=-1.0), x)
    assert works[1].lin.lone.all()
    check_linearisation(works, ("mean", "velocity", "blocks"))


def test_the_first_token_is_lone():
    x = place("one point", 10, 2)
    _, result = linearized(pk.Attention(2, 9.0), x)
    assert result.lin.lone.tolist() == [True] + [False] * 9
