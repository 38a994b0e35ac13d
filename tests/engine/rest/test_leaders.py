"""Which tokens may rest on earlier ones, and how far those that do are from them."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade.engine.rest.leaders import count_followers, find_leaders, set_lags
from parkade.engine.vectors import has_moved

SLOWEST = 0.05  # no rate below this counts, in units of that of the model


def search(x, close):
    """The leader of each token, and how many have one."""
    leader = np.empty(len(x), dtype=np.int64)
    count = find_leaders(x, x.shape[1], close, leader)
    return leader.tolist(), count


def test_tokens_rest_on_the_first_that_is_close_and_leads():
    """Token 1 is close to 0; 3 is close to 1 only, which does not lead."""
    x = pk.sphere.from_angles([0.0, 0.04, 2.0, 0.08, 0.1, 1.99, -0.02])
    assert search(x, 0.05) == ([0, 0, 2, 3, 3, 2, 0], 4)


def test_a_token_close_to_two_leaders_rests_on_the_earlier_one():
    x = pk.sphere.from_angles([0.0, 0.5, 0.25])
    assert search(x, 0.3) == ([0, 1, 0], 1)
    x = pk.sphere.from_angles([0.0, 0.5, 0.42])
    assert search(x, 0.1) == ([0, 1, 1], 1)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_leaders_are_those_of_the_definition(d):
    for seed in range(20):
        x, close = pk.sphere.uniform(300, d, seed), 0.02 * (seed + 1)
        leader, count = search(x, close)
        first = []
        for k in range(len(x)):
            near = [u for u in first if np.linalg.norm(x[u] - x[k]) <= close]
            assert leader[k] == (near[0] if near else k)
            first += [k] * (not near)
        assert count == len(x) - len(first)


def test_leaders_are_parking_centres():
    x = np.repeat(pk.sphere.uniform(2000, 2, seed=1), 2, axis=0)
    leader, _ = search(x, 2 * np.sin(0.5 * 1e-3))
    assert np.unique(leader).tolist() == pk.renyi_centers(x, 1e-3).tolist()


def test_lengths_do_not_decide_who_rests():
    state = np.concatenate([pk.sphere.from_angles([0.0, 0.0]), [[0.0], [5.0]]], axis=1)
    leader = np.empty(2, dtype=np.int64)
    assert find_leaders(state, 2, 1e-7, leader) == 1


def test_followers_are_counted_before_each_moving_token():
    """Tokens 0, 1, 4 and 6 move; 2, 3 and 7 rest on 1, and 5 on 4."""
    moving, rows = np.array([0, 1, 4, 6]), np.array([0, 1, 1, 1, 2, 2, 3, 1])
    number, counts = np.array([-1, 0, 1, -1]), np.zeros((2, 5))
    count_followers(moving, rows, number, counts)
    assert counts.tolist() == [[0, 0, 2, 2, 0], [0, 0, 0, 1, 0]]


def test_moves_are_seen_beyond_the_reach():
    start = pk.sphere.from_angles([0.0, 1.0])
    moved = np.column_stack([pk.sphere.from_angles([0.0, 1.1]), [9.0, 9.0]])  # lengths do not count
    assert has_moved(moved, start, 0.09)
    assert not has_moved(moved, start, 0.11)
    assert not has_moved(moved, start, 0.0)  # without a limit


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


def test_lags_are_at_least_differences_of_growth():
    """Of r, while the last column has ln r: 1 grows like 0, 2 by a quarter more, 3 shrinks."""
    r, speed = np.array([1.0, 2.0, 2.0, 8.0]), np.array([2.0, 2.0, 2.5, -2.0])
    x, velocity = np.zeros((4, 3)), np.zeros((4, 3))
    x[:, 2], velocity[:, 2] = np.log(r), speed / r
    blocks, leader, lag = np.stack([-np.eye(1)] * 4), np.zeros(4, dtype=np.int64), np.empty(4)
    set_lags(x, velocity, blocks, np.ones(4), 2, leader, lag)
    assert lag == pytest.approx([0.0, 0.0, 0.2, 2.0], abs=1e-15)


def test_lags_are_gaps_and_what_forces_apart_make_of_them():
    """Token 1 is at a distance, 2 feels another force, 3 does not return, 4 leads itself."""
    x = np.zeros((5, 3))
    x[1, 2] = 0.5
    velocity = np.array([[1, 0, 0], [1, 0, 0], [1, 3, 4], [1, 0, 1e-3], [9, 9, 9]], dtype=float)
    blocks = np.stack([-np.eye(2), -np.eye(2), -2 * np.eye(2), np.eye(2), np.eye(2)])
    assert lags(x, velocity, blocks, [0, 0, 0, 0, 4]).tolist() == [0.0, 0.5, 2.5, np.inf, 0.0]
