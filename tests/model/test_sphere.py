from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, hyp1f1, ive, ndtri
from support.common import EPS, random_rotation

import parkade as pk
from parkade.model import sphere


@pytest.mark.parametrize("d", [2, 3, 8, 40])
def test_uniform_has_unit_rows(d):
    x = sphere.uniform(1000, d, seed=1)
    assert x.shape == (1000, d)
    assert x.dtype == np.float64
    # Two roundings in the square root of the sum and one division.
    assert np.abs(np.linalg.norm(x, axis=1) - 1).max() <= 4 * EPS


@pytest.mark.parametrize("d", [2, 3, 8])
def test_uniform_has_the_moments_of_the_sphere(d):
    # E x = 0, E xxᵀ = I/d. Var x_i = 1/d, Var x_i² ≤ 3/(d(d+2)), Var x_i x_j ≤ that too.
    # The normal limit holds at n=40000; Bonferroni over all entries and the 3 values of d
    # leaves a false alarm probability ≤ 1e-6 for the whole test.
    n = 40_000
    x = sphere.uniform(n, d, seed=2)
    tests = 3 * (d + d * (d + 1) / 2)
    z = -ndtri(1e-6 / tests / 2)
    assert np.abs(x.mean(axis=0)).max() < z * np.sqrt(1 / d / n)
    second = x.T @ x / n - np.eye(d) / d
    assert np.abs(second).max() < z * np.sqrt(3 / (d * (d + 2)) / n)


def test_uniform_is_reproducible():
    first = sphere.uniform(50, 3, seed=7)
    assert np.array_equal(first, sphere.uniform(50, 3, seed=7))
    assert not np.array_equal(first, sphere.uniform(50, 3, seed=8))
    assert not np.array_equal(sphere.uniform(50, 3), sphere.uniform(50, 3))


def test_uniform_continues_a_generator():
    rng = np.random.default_rng(7)
    assert np.array_equal(sphere.uniform(50, 3, seed=rng), sphere.uniform(50, 3, seed=7))
    assert not np.array_equal(sphere.uniform(50, 3, seed=rng), sphere.uniform(50, 3, seed=7))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2), r"n must be a whole number ≥ 1, got 0"),
        ((2.5, 2), r"n must be a whole number ≥ 1, got 2\.5"),
        ((True, 2), r"n must be a whole number ≥ 1, got True"),
        ((3, 1), r"d must be ≥ 2, got 1"),
        ((3, 2, -1), r"seed must be ≥ 0, got -1"),
        ((3, 2, "one"), r"seed must be an int or a numpy Generator, got 'one'"),
    ],
)
def test_uniform_refuses(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        sphere.uniform(*arguments)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324, 1.0])
def test_normalize_neither_overflows_nor_underflows(scale):
    unit = sphere.normalize(scale * np.array([[1.0, 1.0], [0.0, -1.0]]))
    expected = [[np.sqrt(0.5), np.sqrt(0.5)], [0.0, -1.0]]
    np.testing.assert_allclose(unit, expected, rtol=2 * EPS)


def test_normalize_treats_rows_separately():
    unit = sphere.normalize([[3e300, 4e300], [3e-300, 4e-300], [3.0, 4.0]])
    np.testing.assert_allclose(unit, [[0.6, 0.8]] * 3, rtol=4 * EPS)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_normalize_names_the_row_without_direction(bad):
    x = np.ones((4, 3))
    x[2] = bad
    with pytest.raises(pk.InputError, match=r"row 2 .* zero or not finite.*remove it"):
        sphere.normalize(x)


@pytest.mark.parametrize("angle", [0.0, 1e-150, 1e-17, 1e-8, 1e-3, 1.0, 3.0])
def test_distance_keeps_relative_accuracy_for_small_angles(angle):
    # Down to 1e-150: the square of a smaller difference underflows. sin is accurate to an ulp,
    # and so is each of the next three operations.
    x, y = np.array([1.0, 0.0, 0.0]), np.array([np.cos(angle), np.sin(angle), 0.0])
    assert sphere.distance(x, y) == pytest.approx(angle, rel=4 * EPS, abs=0)


@pytest.mark.parametrize("gap", [0.0, 1e-150, 1e-12, 1e-8, 1e-3])
def test_distance_is_accurate_near_antipodes(gap):
    x, y = np.array([1.0, 0.0]), np.array([-np.cos(gap), np.sin(gap)])
    assert sphere.distance(x, y) == pytest.approx(np.pi - gap, rel=4 * EPS, abs=0)


@pytest.mark.parametrize("angle", [1e-7, 1e-3, np.pi - 1e-3])
def test_distance_ignores_rotations(angle):
    R = random_rotation(5, seed=3)
    x, y = np.eye(5)[0], np.cos(angle) * np.eye(5)[0] + np.sin(angle) * np.eye(5)[1]
    # A rotation rounds each point by about EPS, an absolute error of the angle.
    assert sphere.distance(R @ x, R @ y) == pytest.approx(angle, rel=0, abs=8 * EPS)


def test_distance_broadcasts():
    x = sphere.uniform(6, 3, seed=4)
    table = sphere.distance(x[:, None], x)
    assert table.shape == (6, 6)
    assert np.array_equal(table, table.T)
    assert table[1, 4] == sphere.distance(x[1], x[4])
    assert not table.diagonal().any()


def test_project_leaves_the_tangent_part():
    rng = np.random.default_rng(5)
    x, y = sphere.uniform(20, 4, seed=5), rng.standard_normal((20, 4))
    tangent = sphere.project(x, y)
    # ⟨x, P_x y⟩ = 0, and the removed part is parallel to x; all numbers are of order 1.
    assert np.abs(np.sum(x * tangent, axis=1)).max() < 8 * EPS
    np.testing.assert_allclose(sphere.project(x, y - tangent), 0, atol=16 * EPS)
    np.testing.assert_allclose(sphere.project(x, tangent), tangent, atol=16 * EPS)


def test_angles_invert_from_angles():
    phi = np.linspace(-np.pi, np.pi, 101)[1:]
    x = sphere.from_angles(phi)
    assert x.shape == (100, 2)
    # The coordinates, the angle and π are each rounded by half an ulp of 1.
    np.testing.assert_allclose(sphere.angles(x), phi, rtol=0, atol=4 * EPS)
    assert sphere.angles(x[3]) == pytest.approx(phi[3], abs=4 * EPS)
    assert sphere.angles(x.reshape(10, 10, 2)).shape == (10, 10)


def test_small_angles_keep_their_digits():
    phi = np.array([1e-300, -1e-12, 1e-5])
    np.testing.assert_allclose(sphere.angles(sphere.from_angles(phi)), phi, rtol=4 * EPS)


def test_angles_need_the_circle():
    with pytest.raises(pk.InputError, match=r"must have d=2 columns .* got shape \(4, 3\)"):
        sphere.angles(sphere.uniform(4, 3, seed=1))


@pytest.mark.parametrize("d", [2, 3, 8])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 20.0, 1e6])
def test_von_mises_fisher_has_its_mean_and_its_spread(d, kappa):
    # E⟨μ,x⟩ = A = I_{d/2}(κ)/I_{d/2−1}(κ), E⟨μ,x⟩² = 1 − (d−1)A/κ (1/d at κ=0), and by symmetry
    # the part across μ has mean 0. 12 cases of 2 tests in the normal limit and d−1 more, whose
    # coordinates have variance (1 − E⟨μ,x⟩²)/(d−1): false alarm ≤ 1e-6 altogether.
    n = 40_000
    mean = sphere.uniform(1, d, seed=5)[0]
    x = sphere.von_mises_fisher(n, d, kappa, mean, seed=6)
    z = -ndtri(1e-6 / (12 * (d + 1)) / 2)
    along = x @ mean
    first = ive(d / 2, kappa) / ive(d / 2 - 1, kappa) if kappa else 0.0
    second = 1 - (d - 1) * first / kappa if kappa else 1 / d
    assert abs(along.mean() - first) < z * along.std() / np.sqrt(n) + EPS
    assert abs((along**2).mean() - second) < z * (along**2).std() / np.sqrt(n) + EPS
    across = (x - along[:, None] * mean).mean(axis=0)
    assert np.linalg.norm(across) < z * np.sqrt((1 - second) / n) * np.sqrt(d - 1) + EPS


def test_von_mises_fisher_keeps_its_digits_when_narrow():
    # 2κ(1 − ⟨μ,x⟩) = κ|x−μ|² has mean d−1 and variance 2(d−1) in the limit; 5 sigma: 6e-7.
    x = sphere.von_mises_fisher(10_000, 3, 1e20, [1, 0, 0], seed=7)
    square = 1e20 * (x[:, 1:] ** 2).sum(axis=1)
    assert abs(square.mean() - 2) < 5 * np.sqrt(4 / 10_000)


def test_von_mises_fisher_draws_its_own_mean():
    means = [sphere.von_mises_fisher(50, 3, 1e4, seed=s).mean(axis=0) for s in range(2)]
    assert np.linalg.norm(means[0] - means[1]) > 0.1
    again = sphere.von_mises_fisher(50, 3, 1e4, seed=1).mean(axis=0)
    assert np.array_equal(means[1], again)


@pytest.mark.parametrize(("d", "spread"), [(2, 0.3), (3, 1.0), (16, 0.2)])
def test_mixture_of_one_is_a_projected_normal_law(d, spread):
    # |E x| = r Γ((d+1)/2) / (√2 Γ(d/2+1)) · 1F1(1/2; d/2+1; −r²/2), r = 1/spread. The sample's
    # mean along its own direction exceeds it by O(1/n); 5.5 sigma over 3 cases: < 2e-7.
    n = 40_000
    x = sphere.mixture(n, d, 1, spread, seed=8)
    r = 1 / spread
    factor = np.exp(gammaln((d + 1) / 2) - gammaln(d / 2 + 1)) / np.sqrt(2)
    expected = r * factor * hyp1f1(0.5, d / 2 + 1, -(r**2) / 2)
    length = np.linalg.norm(x.mean(axis=0))
    assert abs(length - expected) < 5.5 * np.sqrt(1 / n) * np.sqrt(1 - expected**2) + 2 / n


def test_mixture_uses_all_its_components_alike():
    # Counts of 5 components among 10000 points: χ² with 4 degrees exceeds 34 with p < 1e-6.
    x = sphere.mixture(10_000, 3, 5, 0.0, seed=9).round(9)
    _, counts = np.unique(x, axis=0, return_counts=True)
    assert len(counts) == 5
    assert ((counts - 2000) ** 2 / 2000).sum() < 34


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sphere.von_mises_fisher(3, 2, -1.0), r"kappa must be ≥ 0, got -1"),
        (lambda: sphere.von_mises_fisher(3, 2, 1.0, [1, 0, 0]), r"mean must be one vector of"),
        (lambda: sphere.von_mises_fisher(3, 2, 1.0, [1, 1]), r"mean must be unit vectors"),
        (lambda: sphere.mixture(3, 2, 0, 1.0), r"components must be a whole number ≥ 1"),
        (lambda: sphere.mixture(3, 2, 1, -1.0), r"spread must be ≥ 0, got -1"),
    ],
)
def test_other_laws_refuse(call, message):
    with pytest.raises(pk.InputError, match=message):
        call()
