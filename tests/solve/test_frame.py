"""Frames for long runs, and the choice of the method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from support.common import random_rotation

import parkade as pk
from parkade.base.errors import doubts_do_not_matter
from parkade.runs.rotation import turn
from parkade.solve.lowering.frame import long_run_frame, rest_frame
from parkade.solve.options import Options, Problem
from parkade.solve.planning.plan import choose

ROTATION = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.3]])  # eigenvalues 1 ± i, 0.3


def in_another_basis(V, seed=1):
    R = random_rotation(len(V), seed)
    return R, R @ V @ R.T


def test_a_rotated_basis_changes_nothing_at_1e14():
    V = np.diag([1.0, 1.0, 0.5])
    R, rotated = in_another_basis(V)
    x0 = pk.sphere.uniform(32, 3, seed=5)
    plain = pk.simulate(pk.Attention(V=V, beta=9.0), x0, 1e14, times="final")
    other = pk.simulate(pk.Attention(V=rotated, beta=9.0), x0 @ R.T, 1e14, times="final")
    np.testing.assert_allclose(other.final @ R, plain.final, atol=1e-10)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_schur_frame_represents_the_model(d):
    V = np.random.default_rng(d).normal(size=(d, d))
    frame = long_run_frame(pk.Attention(V=V))
    np.testing.assert_allclose(frame.basis.T @ frame.basis, np.eye(d), atol=1e-14)
    np.testing.assert_allclose(frame.basis @ frame.V @ frame.basis.T, V, atol=1e-13)
    x = np.random.default_rng(1).normal(size=(4, d))
    np.testing.assert_allclose(frame.leave(frame.enter(x)), x, atol=1e-14)


def test_equal_eigenvalues_leave_exact_zeros_but_given_ones_are_kept():
    _, V = in_another_basis(np.diag([2.0, 2.0, 1.0, -1.0]))
    B = long_run_frame(pk.Attention(V=V)).B
    assert np.count_nonzero(B.diagonal() == 0.0) == 2
    V = np.diag([1.0, 1.0 - 1e-14, 0.0])  # the user's entries are kept
    assert long_run_frame(pk.Attention(V=V)).B[1, 1] == pytest.approx(-1e-14, rel=0.01)


APART = np.array([[1.0, 0.1, -0.3], [0.0, 0.9, 0.3], [0.0, 0.0, 1.0]])  # 1 twice, 0.9 between


@pytest.mark.parametrize("V", [APART, in_another_basis(APART)[1]], ids=["triangular", "rotated"])
@pytest.mark.parametrize("t_end", [1e16, 1e30])
def test_leading_eigenvalues_with_another_between_them_are_gathered(V, t_end):
    """Tokens rest where the first one ends: the part of its start in the eigenspace of 1."""
    x0 = pk.sphere.uniform(6, 3, seed=1)
    end = x0[0] + 10.0 * (V - np.eye(3)) @ x0[0]  # (V − I)² = −(V − I)/10
    run = pk.simulate(pk.Attention(V=V, beta=2.0), x0, t_end, times="final")
    np.testing.assert_allclose(run.final, np.tile(end / np.linalg.norm(end), (6, 1)), atol=1e-5)
    frame = long_run_frame(pk.Attention(V=V))
    leads = np.flatnonzero(frame.B.diagonal() == 0.0)
    assert leads.tolist() in ([0, 1], [1, 2])
    assert not frame.B[np.ix_(leads, leads)].any()
    np.testing.assert_allclose(frame.basis @ frame.V @ frame.basis.T, V, atol=1e-14)


def test_equal_pairs_with_another_eigenvalue_between_them_are_gathered():
    pair = np.array([[1.0, -2.0], [0.5, 1.0]])
    V = np.triu(np.random.default_rng(1).normal(size=(5, 5)), 1)
    V[:2, :2], V[2, 2], V[3:, 3:] = pair, 0.4, pair
    frame = long_run_frame(pk.Attention(V=V), frozen=True)
    np.testing.assert_allclose(frame.basis @ frame.V @ frame.basis.T, V, atol=1e-14)
    np.testing.assert_allclose(frame.V.diagonal(), [1, 1, 1, 1, 0.4], atol=1e-14)


def test_the_frame_turns_with_a_complex_pair():
    x0 = pk.sphere.uniform(32, 3, seed=5)
    model = pk.Attention(V=ROTATION, beta=9.0)
    run = pk.simulate(model, x0, 5000.0)
    assert run.stats.method == "implicit"
    assert run.stats.steps < 500  # following the rotation would take tens of thousands
    slow = pk.simulate(model, x0, 50.0, method="explicit", tol=1e-10)
    times = np.array([0.7, 3.3, 49.0])
    np.testing.assert_allclose(run.at(times), slow.at(times), atol=1e-5)
    # The first token follows its closed form at all times, stored or not.
    for t in (run.times[100], 4321.0, 5000.0):
        y = expm(1j * 0 + t * (ROTATION - np.eye(3))) @ x0[0]
        np.testing.assert_allclose(run.at(t)[0], y.real / np.linalg.norm(y), atol=1e-6)
    # At rest in the rotating frame: the angles between tokens no longer change.
    late = pk.simulate(model, x0, 1e9, times=[5e8, 1e9]).tokens
    np.testing.assert_allclose(late[0] @ late[0].T, late[1] @ late[1].T, atol=1e-9)


def test_the_turning_frame_survives_saving(tmp_path):
    x0 = pk.sphere.uniform(8, 3, seed=5)
    run = pk.simulate(pk.Attention(V=ROTATION, beta=9.0), x0, 1000.0)
    run.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(pk.load(tmp_path / "run.npz").at(123.4), run.at(123.4))


@pytest.mark.parametrize("rate", [1e-7, 1e-10])
def test_a_slow_rotation_is_removed_as_well(rate):
    V = np.array([[1.0, -rate, 0.0], [rate, 1.0, 0.0], [0.0, 0.0, 0.3]])
    model, x0 = pk.Attention(V=V, beta=2.0), pk.sphere.uniform(6, 3, seed=2)
    with doubts_do_not_matter():  # another V, rounded otherwise, turns by a little more or less
        run = pk.simulate(model, x0, 0.1 / (rate * 1e-3), times="final")  # turned by 100
    assert run.stats.steps < 500
    end = expm(100.0 * (V - np.diag([1.0, 1.0, 0.3])) / rate)[:2, :2] @ x0[0, :2]
    np.testing.assert_allclose(run.final[0, :2], end / np.linalg.norm(end), atol=1e-6)


def test_no_frame_turns_where_it_would_not_commute():
    Q = np.random.default_rng(0).normal(size=(3, 3))
    assert long_run_frame(pk.Attention(V=ROTATION, Q=Q)).rotates
    assert long_run_frame(pk.Attention(V=ROTATION), frozen=True).rotates
    assert not long_run_frame(pk.Attention(V=ROTATION)).rotates
    assert not long_run_frame(pk.Attention(V=[1, 1, -1])).rotates
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert not long_run_frame(pk.Attention(V=in_another_basis(jordan)[1])).rotates


@pytest.mark.parametrize("scale", [1.0, 1e-7, 3e5])
def test_rounding_in_a_nilpotent_matrix_turns_no_frame(scale):
    """All eigenvalues of V are 0, but rounding makes complex pairs of half of them."""
    pairs = 0
    for seed in range(20):
        _, V = in_another_basis(scale * np.array([[0.0, 1.0], [0.0, 0.0]]), seed)
        pairs += np.linalg.eigvals(V).imag.any()
        model = pk.Attention(V=V)
        for frame in (rest_frame(model), long_run_frame(model), long_run_frame(model, frozen=True)):
            assert not frame.rotates
            assert frame.turning == 0.0
            assert not frame.spin.any()
    assert pairs > 0


def test_the_first_token_under_a_nilpotent_matrix():
    """It moves along (I + tV) x, for V² = 0."""
    _, V = in_another_basis(np.array([[0.0, 1.0], [0.0, 0.0]]), 3)
    assert np.linalg.eigvals(V).imag.any()
    x0, times = pk.sphere.uniform(4, 2, seed=1), np.array([0.0, 3.0, 1e3, 1e5])
    with doubts_do_not_matter():
        run = pk.simulate(pk.Attention(V=V), x0, times[-1], times=times)
    assert run.stats.steps < 1000
    ends = x0[0] + times[:, None] * (V @ x0[0])
    ends /= np.linalg.norm(ends, axis=1)[:, None]
    np.testing.assert_allclose(run.tokens[:, 0], ends, atol=1e-6)


def test_turn_is_the_matrix_exponential():
    S = np.random.default_rng(2).normal(size=(4, 4))
    S = S - S.T
    x = np.random.default_rng(3).normal(size=(2, 5, 4))
    times = np.array([0.3, 2.0])
    for t, before, after in zip(times, x, turn(S, times, x), strict=True):
        np.testing.assert_allclose(after, before @ expm(t * S).T, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "n", "t_end", "method", "reason"),
    [
        (pk.Attention(d=2, beta=64.0), 200, 150.0, "explicit", "short"),
        (pk.Attention(d=2, beta=64.0), 200, 1e60, "implicit", "long causal"),
        (pk.Attention(V=ROTATION), 10, 1e6, "implicit", "rotates with"),
        (pk.Attention(V=ROTATION, Q=[1, 2, 3]), 10, 1e4, "explicit", "rotate forever"),
        (pk.Attention(d=2, mask="full"), 100, 1e9, "implicit", "small enough"),
        (pk.Attention(d=3, mask="full"), 1000, 1e12, "explicit", "couples"),
        (pk.Attention(d=3, beta=9.0), 2000, 1e3, "explicit", "cheaper"),
        (pk.Attention(d=3, beta=9.0), 2000, 1e4, "implicit", "long causal"),
    ],
)
def test_auto_chooses_and_says_why(model, n, t_end, method, reason):
    plan = choose(Problem.of(model, Options(t_end)), n)
    assert plan.method == method
    assert reason in plan.reason


def test_auto_does_not_store_weights_that_do_not_fit(monkeypatch):
    monkeypatch.setattr("parkade.solve.planning.plan.available_memory", lambda: 1e9)
    plan = choose(Problem.of(pk.Attention(d=2), Options(1e4, sums="direct")), 100_000)
    assert plan.method == "explicit"
    assert "too many tokens" in plan.reason


def test_rest_frame_drops_the_radial_part():
    V = np.array([[2.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(rest_frame(pk.Attention(V=V)).B, V - 2 * np.eye(2))
