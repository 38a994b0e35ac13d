"""The Jacobian by sums in linear time, against the one by direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from support.harmonics import lone_pair, place, values
from support.linear_jacobians import felt, linearized, solution
from support.marks import both

import parkade as pk

# --- the linearised flow -----------------------------------------------------------------


@both
@pytest.mark.parametrize("beta", [1.0, 9.0, 64.0])
@pytest.mark.parametrize("name", ["I", "diag", "random"])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "frozen"])
def test_linearisation_is_that_of_direct_sums(held, kind, name, beta, d):
    for n in (100, 257, 300):
        x = place(kind, n, d, seed=n)
        frozen = pk.sphere.uniform(5, d, seed=3) if held else None
        weights = np.array([1.0, 2.5, 40.0, 0.3, 1.0]) if held else None
        model = pk.Attention(d, beta, V=values(name, d))
        works = linearized(model, x, None, frozen, weights)
        expected, result = (work.lin for work in works)
        for part in ("shares", "queries", "mean", "velocity", "blocks"):
            one, two = getattr(result, part), getattr(expected, part)
            assert np.abs(one - two).max() <= 1e-11 * max(np.abs(two).max(), 1e-3), part
        assert np.array_equal(result.axes, expected.axes)
        one, two = map(solution, works)
        assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


@both
def test_what_a_token_feels_of_others_matters_in_these_tests(d):
    # Were off-diagonal blocks small against the diagonal, solutions would not show them.
    x = place("uniform", 300, d)
    one, two = (felt(work, x, 1.0) for work in linearized(pk.Attention(d, 9.0), x, 1.0))
    assert np.abs(one).max() > 0.3 * np.abs(pk.Attention(d, 9.0).velocity(x)).max()
    assert np.abs(one - two).max() <= 1e-11 * np.abs(one).max()


@both
@pytest.mark.parametrize("angle", [1.9, 2.3])
def test_a_lone_token_is_linearised_to_all_digits(angle, d):
    # β = 64: weights of 1e-37 and 1e-47.
    x = lone_pair(d, angle)
    works = linearized(pk.Attention(d, 64.0), x, 1.0)
    expected, result = (work.lin for work in works)
    assert result.lone[-2]
    assert not result.lone[-1]
    for part in ("mean", "velocity", "blocks"):
        one, two = getattr(result, part)[-2], getattr(expected, part)[-2]
        assert 0 < np.linalg.norm(two) < 1e-32
        assert np.linalg.norm(one - two) <= 1e-10 * np.linalg.norm(two), part
    assert result.shares[1, -2] == pytest.approx(expected.shares[1, -2], rel=1e-10)
    one, two = map(solution, works)
    assert 0 < np.linalg.norm(one[-2]) < 1e-30
    assert np.linalg.norm(one[-2] - two[-2]) <= 1e-10 * np.linalg.norm(one[-2])
    # Much of what the lone token does, it does because of what those far away do.
    changed = felt(works[0], x, 1.0)[-2]
    assert np.linalg.norm(changed) > 0.05 * np.linalg.norm(expected.velocity[-2])


def test_the_first_token_is_lone():
    x = place("one point", 10, 2)
    _, result = linearized(pk.Attention(2, 9.0), x)
    assert result.lin.lone.tolist() == [True] + [False] * 9
