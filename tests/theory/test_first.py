import math
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.linalg import block_diag
from support.common import random_rotation
from support.hard import exact_first

import parkade as pk
from parkade.theory import first_token


def jordan(k):
    return np.eye(k) + np.eye(k, k=1)


@pytest.mark.parametrize(
    "D",
    [
        np.diag([1.0, 0.5, -0.3]),
        np.diag([-1.0, -1.0, -2.0]),
        block_diag([[0.5, -1], [1, 0.5]], 0.2),
        block_diag(jordan(2), 0.3),
        jordan(3),
    ],
    ids=["positive", "negative", "rotation", "block of 2", "block of 3"],
)
@pytest.mark.parametrize("skew", [False, True])
def test_against_many_digits(D, skew):
    P = random_rotation(3, 1)
    if skew:
        P = P @ np.diag([1, 0.5, 0.2]) @ random_rotation(3, 2)
    V = P @ D @ np.linalg.inv(P)
    x = pk.sphere.uniform(1, 3, seed=3)[0]
    times = [-3.0, 0.0, 0.1, 2.0, 30.0]
    path = first_token(V, x, times)
    expected = np.array([exact_first(V, x, t) for t in times])
    assert np.abs(path - expected).max() < 1e-12
    assert np.allclose(np.linalg.norm(path, axis=1), 1, atol=1e-15)


def test_very_late_times_do_not_overflow_or_underflow():
    late = first_token([2.0, 1.0, -5.0], pk.sphere.normalize([0.0, 1.0, 1.0]), [1e3, 1e9, 1e300])
    assert np.array_equal(late, [[0, 1, 0]] * 3)
    early = first_token([2.0, 1.0, -5.0], pk.sphere.normalize([1.0, 1.0, 1.0]), [-1e9])
    assert np.array_equal(early, [[0, 0, 1]])


def test_a_jordan_block_is_approached_like_one_over_t():
    times = np.array([1e2, 1e3, 1e4])
    path = first_token(jordan(2), [0.0, 1.0], times)
    assert np.allclose(path[:, 1] * times, 1, rtol=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("t", [1e3, 1e6, 1e12, 1e200])
def test_late_times_are_those_of_equal_eigenvalues_in_any_basis(k, t):
    """Rounding splits the leading eigenvalue by 1e-16^{1/k}; the path is unaffected."""
    W = random_rotation(4, 1)
    D = block_diag(jordan(k), np.eye(3 - k), 0.3) if k < 3 else block_diag(jordan(3), 0.3)
    x = pk.sphere.uniform(1, 4, seed=3)[0]
    z = W.T @ x
    z[3] = 0
    block = sum(
        np.linalg.matrix_power(D[:k, :k] - np.eye(k), j) * t ** (j - k + 1) / math.factorial(j)
        for j in range(k)
    )
    z[:k] = block @ z[:k]
    z[k:] *= t ** (1.0 - k)
    unknown = (k == 2 and t >= 1e12) or (
        k == 3 and t >= 1e6
    )  # the numbers in V are not exactly those of a block
    with pytest.warns(pk.TrustWarning, match="Jordan block") if unknown else nullcontext():
        path = first_token(W @ D @ W.T, x, [t])
    assert np.abs(path[0] - W @ pk.sphere.normalize(z)).max() < 1e-12


W = random_rotation(3, 5)
TINY = np.diag([1.0, 1.0 - 1e-4, 1.0 + 2e-4]) + np.triu(np.ones((3, 3)), 1)
NEARLY = {
    "a gap of 1e-7": ([[1, 1], [0, 1 - 1e-7]], [-1, 5e-8], 1e8),
    "a gap of 1e-13": ([[1, 1], [0, 1 - 1e-13]], [-1, 5e-14], 1e13),
    "lower": ([[1 - 1e-7, 0], [1, 1]], [5e-8, -1], 1e8),
    "diagonal": ([1, 1 + 1e-13], [0.6, 0.8], 1e13),
    "large entries": ([[1, 1e6], [0, 0.5]], [-1, 4e-7], 20.0),
    "large entries, back": ([[1, 1e6], [0, 0.5]], [-1, 4e-7], -20.0),
    "very large entries": ([[1, 1e8], [0, 0.5]], [-1, 4e-9], 1e3),
    "three": (TINY, [1, -1e-4, 1e-8], 3e3),
    "rotated": (W @ TINY @ W.T, W @ [1, -1e-4, 1e-8], 3e3),
    "a slow turn": ([[1, 1], [-1e-12, 1]], [0.6, 0.8], 1e7),
    "a short time": ([[1, 1], [0, 1 + 1e-12]], [0.6, 0.8], 10.0),
}


@pytest.mark.parametrize("case", NEARLY)
def test_nearly_defective_matrices(case):
    """Their eigenvalues differ by more than rounding errors, so they are not made equal."""
    V, x, t = NEARLY[case]
    V = np.array(V, dtype=float) if np.ndim(V) == 2 else np.diag(V).astype(float)
    x = pk.sphere.normalize(np.array(x, dtype=float))
    assert np.abs(first_token(V, x, [t])[0] - exact_first(V, x, t)).max() < 1e-9


def test_a_path_that_cannot_be_known_is_warned_of():
    """Eigenvalues that rounding may have split: exactly these numbers have another path."""
    turn = random_rotation(2, 1)
    V = turn @ np.array([[1, 1], [0, 1 - 1e-8]]) @ turn.T
    x = turn @ pk.sphere.normalize([-1.0, 1e-9])
    with pytest.warns(pk.TrustWarning, match=r"more than 1e-06 from \|t\|=1e\+09 on"):
        first_token(V, x, [0.0, 1.0, 1e9])


def weak_block(seed):
    """V with a block of coupling w in a random basis, x, w, t, and the token if w were 0."""
    rng = np.random.default_rng(seed)
    d = 2 + seed % 2
    w = 10 ** rng.uniform(-15, -5)
    size = 2 if d == 2 else rng.integers(2, 4)
    D = np.diag([*np.ones(size), *rng.uniform(-1, 0.9, d - size)])
    turn = random_rotation(d, seed)
    x = pk.sphere.uniform(1, d, seed=seed)[0]
    t = 10 ** (rng.uniform(-2, 1) - math.log10(w) if seed % 4 < 2 else rng.uniform(-2, 12))
    still = turn @ pk.sphere.normalize(np.exp((D.diagonal() - 1) * t) * (turn.T @ x))
    D[:size, :size] += w * np.eye(size, k=1)
    return turn @ D @ turn.T, x, w, t, still


@pytest.mark.parametrize("seed", range(60))
def test_a_weak_block_is_right_or_warned_of(seed):
    """The eigenvectors of a block are those of rounding errors, whatever their condition."""
    V, x, w, t, still = weak_block(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = first_token(V, x, [t])[0]
    assert all(issubclass(one.category, pk.TrustWarning) for one in caught)
    # A coupling of 2dε‖V‖ is taken for a rounding error, and there is nothing to say.
    right = [exact_first(V, x, t)] + ([still] if w < 2e-15 else [])
    assert caught or min(np.abs(path - one).max() for one in right) <= 1e-6
    if t * (1 + w * t) ** (len(V) - 1) < 1e8:  # rounding errors of V move it by less than 1e-7
        assert not caught


@pytest.mark.parametrize("w", [1e-13, 1e-11, 3e-10])
@pytest.mark.parametrize("lower", [False, True])
def test_weak_blocks_of_triangular_matrices_are_exact(w, lower):
    V = np.array([[1, w], [0, 1]])
    V, x = V.T if lower else V, np.array([0.6, 0.8])
    for t in [1.0, 1 / w, 1e30]:
        assert np.abs(first_token(V, x, [t])[0] - exact_first(V, x, t)).max() < 1e-12


def test_what_moves_by_3e_7_is_right():
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, -s], [s, c]])
    V = turn @ np.array([[1, 3e-10], [0, 1]]) @ turn.T
    x = pk.sphere.from_angles([2.5])[0]
    t = 1 / 3e-10
    assert np.abs(first_token(V, x, [t])[0] - exact_first(V, x, t)).max() < 1e-6


@pytest.mark.parametrize("skew", [False, True])
@pytest.mark.parametrize("d", [2, 3, 5, 9])
def test_equal_eigenvalues_with_eigenvectors_stay_equal(d, skew):
    """Up to rounding errors of V: there is no block, and nothing to say."""
    rng = np.random.default_rng(d)
    for seed in range(30):
        P = random_rotation(d, seed)
        if skew:
            P = P @ np.diag(rng.uniform(0.2, 1, d)) @ random_rotation(d, 100 + seed)
        k = rng.integers(2, d + 1)
        values = np.r_[np.ones(k), rng.uniform(-1, 0.8, d - k)]
        V = P @ np.diag(values) @ np.linalg.inv(P)
        x = pk.sphere.uniform(1, d, seed=seed)[0]
        end = pk.sphere.normalize(P[:, :k] @ (np.linalg.inv(P) @ x)[:k])
        assert np.abs(first_token(V, x, [1e3, 1e9, 1e15, 1e30]) - end).max() < 1e-11


def test_a_close_eigenvalue_beside_equal_ones_is_warned_of():
    turn = random_rotation(3, 2)
    V = turn @ np.diag([1.0, 1.0, 1 - 1e-13]) @ turn.T
    x = pk.sphere.normalize([1.0, 2.0, 3.0])
    with pytest.warns(pk.TrustWarning, match=r"Rounding errors of V move .* from \|t\|=1e\+13 on"):
        first_token(V, x, [1.0, 1e13])


def test_a_late_turn_is_that_of_these_numbers():
    V = random_rotation(2, 3) @ np.array([[0.5, -1], [1.3, 0.4]]) @ random_rotation(2, 3).T
    x = np.array([0.6, 0.8])
    assert np.abs(first_token(V, x, [1e12])[0] - exact_first(V, x, 1e12)).max() < 1e-12


def test_it_is_the_simulated_first_token():
    model = pk.Attention(V=[[0.3, -1, 0], [1, 0.2, 0], [0.5, 0, 0.4]], beta=3.0)
    x0 = pk.sphere.uniform(4, 3, seed=1)
    times = np.linspace(0, 5, 6)
    run = pk.simulate(model, x0, 5.0, times=times, tol=1e-9)
    assert np.abs(run.tokens[:, 0] - first_token(model.V, x0[0], times)).max() < 1e-6


def test_bad_input_gets_a_sentence():
    with pytest.raises(pk.InputError, match="1-D"):
        first_token([1, 2], [1.0, 0.0], 3.0)
    with pytest.raises(pk.InputError, match="unit vectors"):
        first_token([1, 2], [1.0, 1.0], [3.0])
