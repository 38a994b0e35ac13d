"""Ends of iterations: planted orbits, fixed points, and motion without end."""

import numpy as np
import pytest

import parkade as pk
from parkade.trained import measures as ms


def iterate(step, start, times):
    states = [start]
    for _ in range(times):
        states.append(pk.sphere.normalize(step(states[-1])))
    return pk.Path(range(times + 1), np.array(states))


def turning(angle, d=5):
    """A rotation of the first plane; other coordinates shrink to 0 within some steps."""
    step = 0.3 * np.eye(d)
    step[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return lambda x: x @ step.T


def start(d=5):
    """Nine tokens around three directions of the plane."""
    at = np.repeat(pk.sphere.from_angles([0.0, 1.0, 2.5]), (4, 3, 2), axis=0)
    noise = np.random.default_rng(0).standard_normal((9, d - 2))
    return pk.sphere.normalize(np.concatenate([at, noise], axis=1))


@pytest.mark.parametrize("period", [2, 7, 30])
def test_planted_orbits_have_their_period(period):
    end = ms.ending(iterate(turning(2 * np.pi / period), start(), 400))
    assert end.period == period
    assert end.clusters == (4, 3, 2)
    assert end.error < 1e-12
    assert 5 < end.since < 60
    assert (end.counts[0], end.counts[-1]) == (9, 3)
    assert f"orbit of period {period}" in end.sentence


def test_orbits_of_different_periods_have_their_common_one():
    def step(x):
        y = np.empty_like(x)
        for plane, turns in ((slice(0, 2), 4), (slice(2, 4), 6)):
            a = 2 * np.pi / turns
            y[:, plane] = x[:, plane] @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
        return y

    first = np.eye(4)[[0, 2]]
    assert ms.ending(iterate(step, first, 60)).period == 12


def test_a_fixed_point_has_period_one():
    end = ms.ending(iterate(turning(0.0), start(), 100))
    assert (end.period, end.clusters) == (1, (4, 3, 2))
    assert "at rest" in end.sentence


def test_a_rotation_by_an_irrational_angle_never_returns():
    end = ms.ending(iterate(turning(1.0), start(), 300))
    assert end.period is None
    assert end.since is None
    assert end.error > 1e-3
    assert "still moving" in end.sentence


def test_a_slow_spiral_is_no_fixed_point():
    slow = lambda x: x @ np.diag([1.0, 0.999, 0.999])  # noqa: E731
    end = ms.ending(iterate(slow, pk.sphere.uniform(5, 3, 1), 300))
    assert end.period is None


def test_bad_paths_get_a_sentence():
    with pytest.raises(pk.InputError, match="at least 4 states, got 3"):
        ms.ending(iterate(turning(1.0), start(), 2))
    with pytest.raises(pk.InputError, match="needs a run or a path"):
        ms.ending(np.ones((5, 2, 2)))
