"""Which tokens may rest on earlier ones, and how far those that do are from them."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade.engine.steps.rest import MOST, fastest, find_leaders, set_lags

SLOWEST = 0.05  # no rate below this counts, in units of that of the model


def search(x, near, close):
    """The tokens that lead, the leader of each token, and how many have one."""
    leads, leader = np.empty(len(x), dtype=bool), np.empty(len(x), dtype=np.int64)
    count = find_leaders(x, x.shape[1], near**2, close**2, leads, leader)
    return leads.tolist(), leader.tolist(), count


def test_leaders_are_the_first_that_no_earlier_leader_is_near():
    """Token 1 is close to 0, 3 is near it only, and 4 is close to 3, which does not lead."""
    x = pk.sphere.from_angles([0.0, 0.01, 2.0, 0.3, 0.305, 1.99, -0.02])
    leads, leader, count = search(x, 0.4, 0.05)
    assert leads == [True, False, True, False, False, False, False]
    assert leader == [0, 0, 2, 3, 4, 2, 0]
    assert count == 3


def test_a_token_near_two_leaders_rests_on_the_one_that_is_close():
    x = pk.sphere.from_angles([0.0, 0.5, 0.42])
    assert search(x, 0.45, 0.1) == ([True, True, False], [0, 1, 1], 1)
    x = pk.sphere.from_angles([0.0, 0.5, 0.25])  # near both, close to both
    assert search(x, 0.45, 0.3) == ([True, True, False], [0, 1, 0], 1)


def test_leaders_are_those_of_the_definition():
    for seed in range(20):
        x = pk.sphere.uniform(60, 3, seed)
        leads, leader, count = search(x, 0.6, 0.4)
        first = []
        for k in range(60):
            gaps = np.linalg.norm(x[first] - x[k], axis=1) if first else np.array([])
            near = np.flatnonzero(gaps <= 0.6)
            close = np.flatnonzero(gaps <= 0.4)
            assert leads[k] == (len(near) == 0)
            assert leader[k] == (first[close[0]] if len(close) else k)
            first += [k] * leads[k]
        assert count == sum(u != k for k, u in enumerate(leader))


def test_no_more_leaders_are_looked_for_than_sums_take():
    x = pk.sphere.from_angles(np.linspace(0, 6, MOST + 50))
    again = np.concatenate([x, x])
    leads, leader, count = search(again, 1e-6, 1e-6)
    assert sum(leads) == MOST
    assert count == MOST
    assert leader[MOST + 50 :] == [*range(MOST), *range(2 * MOST + 50, 2 * MOST + 100)]


def test_lengths_do_not_decide_who_rests():
    state = np.concatenate([pk.sphere.from_angles([0.0, 0.0]), [[0.0], [5.0]]], axis=1)
    leads, leader = np.empty(2, dtype=bool), np.empty(2, dtype=np.int64)
    assert find_leaders(state, 2, 1e-4, 1e-14, leads, leader) == 1


def lags(x, velocity, blocks, leader, scale=1.0):
    n, d = x.shape
    lag = np.full(n, np.nan)
    set_lags(x, velocity, blocks, np.full(n, scale), d, np.asarray(leader), lag)
    return lag


def rate(block, scale=1.0):
    """The rate of return to a leader: of a token at its place, which is faster by 1."""
    d = len(block) + 1
    velocity, blocks = np.zeros((2, d)), np.ascontiguousarray(np.stack([block] * 2))
    velocity[1, 0] = 1.0
    return 1.0 / lags(np.zeros((2, d)), velocity, blocks, [0, 0], scale)[1]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_rates_of_return_are_lower_bounds(size):
    """Every perturbation shrinks at least at the least eigenvalue of −(J + Jᵀ)/2.

    Blocks are around the limit of stability, of any kind.
    """
    rng, slow = np.random.default_rng(size), 0
    for _ in range(300):
        block = rng.uniform(0.1, 1.0) * rng.standard_normal((size, size)) / np.sqrt(size)
        block -= rng.uniform(0.0, 3.0) * np.eye(size)
        scale = rng.uniform(0.5, 2.0)
        true = np.linalg.eigvalsh(-(block + block.T) / 2)[0]
        bound = rate(block, scale)
        if true < SLOWEST * scale:
            assert bound == 0.0
        elif true > 1.001 * SLOWEST * scale:
            slow += true < 0.4 * scale
            assert SLOWEST * scale * (1 - 1e-12) <= bound <= true * (1 + 1e-12)
    assert slow > 3


def test_rates_of_symmetric_blocks_are_within_a_factor_of_two():
    """Where rows have large sums, so that Gershgorin's circles say nothing."""
    for least in (0.06, 0.15, 0.3, 0.39):
        turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3))).Q
        block = -turn @ np.diag([least, 9.0, 30.0]) @ turn.T
        assert 0.499 * least <= rate(block) <= least


def test_no_rate_is_known_of_what_grows():
    assert rate(np.array([[0.1]])) == rate(np.zeros((1, 1))) == 0.0
    assert rate(np.diag([-1.0, 1e-6])) == 0.0
    assert rate(np.array([[-1.0, 3.0], [0.0, -1.0]])) == 0.0  # which grows at first
    assert rate(-np.eye(3)) == 1.0


@pytest.mark.xfail(reason="max(bound, NaN) is the bound: the rate is infinite", strict=True)
def test_no_rate_is_known_of_what_is_not_a_number():
    with np.errstate(divide="ignore"):
        assert rate(np.full((2, 2), np.nan)) == 0.0


def test_only_tangent_coordinates_count():
    """With lengths, blocks have one more row and column."""
    block = np.array([[-2.0, 7.0], [7.0, 5.0]])
    velocity = np.array([[0.0, 0.0, 0.0], [0.0, 3.0, 9.0]])
    lag = np.empty(2)
    set_lags(
        np.zeros((2, 3)), velocity, np.stack([block] * 2), np.ones(2), 2, np.zeros(2, int), lag
    )
    assert lag.tolist() == [0.0, 1.5]


def test_lags_are_gaps_and_what_forces_apart_make_of_them():
    """Token 1 is at a distance, 2 feels another force, 3 does not return, 4 leads itself."""
    x = np.zeros((5, 3))
    x[1, 2] = 0.5
    velocity = np.array([[1, 0, 0], [1, 0, 0], [1, 3, 4], [1, 0, 1e-3], [9, 9, 9]], dtype=float)
    blocks = np.stack([-np.eye(2), -np.eye(2), -2 * np.eye(2), np.eye(2), np.eye(2)])
    assert lags(x, velocity, blocks, [0, 0, 0, 0, 4]).tolist() == [0.0, 0.5, 2.5, np.inf, 0.0]


def test_the_fastest_is_sought_among_those_that_lead():
    velocity = np.array([[3.0, 4.0, 99.0], [30.0, 40.0, 0.0], [0.0, 1.0, 0.0]])
    assert fastest(np.array([True, False, True]), velocity, 2) == 5.0
    assert fastest(np.zeros(3, dtype=bool), velocity, 2) == 0.0
