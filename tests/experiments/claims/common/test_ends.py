"""How runs are said to end."""

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims.common import ends


def test_the_return_rate_is_the_rate_at_which_a_token_returns():
    model = pk.Attention(V=[1, 0.5], beta=2)
    tokens = pk.sphere.from_angles([0, 0])
    start = pk.sphere.from_angles([0, 1e-4])
    later = pk.simulate(model, start, 3.0, times=[3.0], tol=1e-12).final
    seen = -np.log(pk.sphere.angles(later)[1] / 1e-4) / 3
    assert ends.return_rate(model, tokens) == pytest.approx(seen, rel=1e-4)


def test_a_token_opposite_the_first_does_not_return():
    assert ends.return_rate(pk.Attention(d=3), np.array([[1.0, 0, 0], [-1, 0, 0]])) < 0


def test_the_four_ends():
    start = pk.sphere.from_angles([0.3, 1.0, 2.0])
    xi = np.array([[1.0, 0], [-1, 0]])
    model = pk.Attention(V=[1, 0.5])
    assert ends.follow(model, start, xi, 1e5).kind == "reached"
    assert ends.follow(model, start, xi[:, ::-1], 1e5).kind == "stable elsewhere"
    turning = pk.Attention(V=[[1, -1], [1, 1]])
    assert ends.follow(turning, start, xi, 1e5).kind == "moving"
    # Opposite and far apart: they will meet, but not yet.
    waiting = pk.Attention(d=2, beta=30)
    end = ends.follow(waiting, pk.sphere.from_angles([0, 2.5]), xi[:1], 1e6)
    assert end.kind == "unfinished"
    assert ends.follow(waiting, pk.sphere.from_angles([0, 2.5]), xi[:1], 1e40).kind == "reached"


def test_the_path_is_that_of_one_run():
    """Two tokens that meet at t ≈ 10⁴, after the first part of the run."""
    model, start = pk.Attention(d=2, beta=8), pk.sphere.from_angles([0, 2.0])
    times, off = ends.follow(model, start, start[:1], 1e5).path
    assert np.all(np.diff(times) > 0)
    assert times[-1] == 1e5
    whole = pk.simulate(model, start, 1e5, times=times, tol=1e-10)
    expected = pk.sphere.distance(whole.tokens, start[:1]).max(axis=1)
    assert expected[times < 3e3].min() > 1.5
    assert expected[-1] < 1e-3
    assert np.abs(off - expected).max() < 1e-4


def test_bases_are_orthonormal_and_in_general_position():
    rng = np.random.default_rng(0)
    bases = np.array([ends.orthonormal(3, rng) for _ in range(2000)])
    assert np.abs(np.swapaxes(bases, 1, 2) @ bases - np.eye(3)).max() < 1e-14
    # Entries have mean 0 and variance 1/3: five standard errors, one in a million.
    assert np.abs(bases.mean(axis=0)).max() < 5.3 / np.sqrt(3 * 2000)
