import numpy as np
import pytest
from scipy.linalg import block_diag
from support.common import random_rotation
from support.marks import many

import parkade as pk
from parkade.base.constants import SNAP
from parkade.theory import final_configuration, first_token


def jordan(value, k):
    return value * np.eye(k) + np.eye(k, k=1)


def pair(a, b):
    return np.array([[a, -b], [b, a]], dtype=float)


COUPLED = np.block([[pair(1, 1), np.eye(2)], [np.zeros((2, 2)), pair(1, 1)]])

# (blocks, kind, dim L, status in an orthonormal basis)
TABLE = {
    "identity": ([2.0] * 4, "one point", 4, "theorem"),
    "plane": ([1.0, 1.0, 0.5, -0.3, 0.2], "one point", 2, "conjecture"),
    "space": ([1.0, 1.0, 1.0, 0.5, -3.0, 0, 0, -1], "one point", 3, "conjecture"),
    "plane over blocks": ([1.0, 1.0, jordan(0.5, 3), jordan(0.45, 3)], "one point", 2, None),
    "line": ([1.0, 0.9, 0.5, 0.1], "two points", 1, "conjecture"),
    "line, mixed signs": ([1.0, 0.9, 0.5, -0.3, -2.0], "two points", 1, "conjecture"),
    "line over blocks": ([1.0, jordan(0.5, 2), jordan(0.4, 2)], "two points", 1, "conjecture"),
    "circle": ([1.0, -1.0], "two points", 1, "conjecture"),
    "minus identity": ([-2.0] * 4, "cloud", 4, "observed"),
    "negative plane": ([-1.0, -1.0, -2.0, pair(-3, 1)], "cloud", 2, "observed"),
    "negative line": ([-1.0, -2.0, -2.0, -5.0], "two clouds", 1, "observed"),
    "rotation": ([pair(1, 1), 0.5, -1.0], "rotation", 2, "observed"),
    "equal rotations": ([pair(1, 1), pair(1, 1), -1.0], "rotation", 4, "observed"),
    "rotation of the plane": ([pair(1, 3)], "rotation", 2, "observed"),
    "unequal rotations": ([pair(1, 1), pair(1, 2), -1.0], "outside", 4, "outside the table"),
    "rotation and line": ([pair(1, 1), 1.0, -1.0], "outside", 3, "outside the table"),
    "defective rotation": ([COUPLED, 0.5], "outside", 2, "outside the table"),
    "imaginary": ([pair(0, 1), pair(0, 2)], "outside", 4, "outside the table"),
    "imaginary pair": ([pair(0, 3)], "outside", 2, "outside the table"),
    "sinking rotation": ([pair(-1, 1), -2.0], "outside", 2, "outside the table"),
    "zero": ([0.0] * 3, "outside", 3, "outside the table"),
    "nothing positive": ([0.0, 0.0, -1.0], "outside", 2, "outside the table"),
    "block of 2": ([jordan(1, 2), 0.5, -1.0], "outside", 1, "outside the table"),
    "block of 3": ([jordan(1, 3), 0.5, -1.0], "outside", 1, "outside the table"),
    "block of 4": ([jordan(1, 4), 0.5, -1.0], "outside", 1, "outside the table"),
    "block and equal": ([jordan(1, 2), 1.0, 0.5, -1.0], "outside", 2, "outside the table"),
    "block of 3 and equal": ([jordan(1, 3), 1.0, 0.5], "outside", 2, "outside the table"),
    "two blocks": ([jordan(1, 2), jordan(1, 2), 0.5], "outside", 2, "outside the table"),
    "nothing but a block": ([jordan(1, 2)], "outside", 1, "outside the table"),
    "negative block": ([jordan(-1, 2), -3.0], "outside", 1, "outside the table"),
}


def skew_basis(d, seed, condition=30.0):
    stretch = np.geomspace(1, 1 / condition, d)
    return random_rotation(d, seed) @ np.diag(stretch) @ random_rotation(d, seed + 1000)


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("basis", ["own", "orthonormal", "skew"])
def test_every_row_of_the_table_in_every_basis(name, basis):
    blocks, kind, dim, status = TABLE[name]
    D = block_diag(*blocks)
    d = len(D)
    for seed in range(1 if basis == "own" else many(4, 20)):
        if basis == "own":
            P = np.eye(d)
        else:
            P = random_rotation(d, seed) if basis == "orthonormal" else skew_basis(d, seed)
        V = P @ D @ np.linalg.inv(P)
        final = final_configuration(V)
        assert (final.kind, final.dim) == (kind, dim)
        if basis != "skew" and status is not None:
            assert final.status == status
        assert ("outside the table" in final.sentence) == (final.status == "outside the table")
        # The basis is orthonormal and spans the eigenspace: here, the leading columns of P.
        assert np.allclose(final.basis.T @ final.basis, np.eye(dim), atol=1e-12)
        image = V @ final.basis
        assert np.allclose(final.basis @ (final.basis.T @ image), image, atol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-14, 0.9e-12, 1.2e-12, 1e-11, 1e-6])
def test_eigenvalues_closer_than_the_tolerance_are_equal(gap):
    dim = 2 if gap <= SNAP else 1
    for seed in range(20):
        W = random_rotation(5, seed)
        V = 3 * W @ np.diag([1, 1 - gap, 0.5, 0.2, -1]) @ W.T
        assert final_configuration(V).dim == dim
    assert final_configuration(V, tol=1e-4).dim == 2


def test_the_tolerance_is_a_share_of_the_norm():
    for scale in (1e-49, 1.0, 1e49):
        assert final_configuration(scale * np.array([1, 1 - 1e-13, 0.5])).dim == 2
        assert final_configuration(scale * np.array([1, 1 - 1e-11, 0.5])).dim == 1


def test_a_nearly_defective_pair_differs_from_a_block_by_its_gap():
    # κ = 1/gap: equal if gap² ≤ tol.
    assert final_configuration([[1, 1], [0, 1 - 1e-5]]).kind == "two points"
    assert final_configuration([[1, 1], [0, 1 - 1e-7]]).kind == "outside"


def test_blocks_of_different_eigenvalues_do_not_merge():
    V = block_diag(jordan(1, 3), jordan(0.99, 3))
    final = final_configuration(V)
    assert (final.kind, final.dim) == ("outside", 1)
    assert abs(final.eigenvalue - 1) < 1e-9
    assert abs(final.gap - 0.01) < 1e-9


def test_the_sentence_tells_the_gap_and_its_time():
    final = final_configuration([1.0, 0.999, 0.5])
    assert "lower by 0.001" in final.sentence
    assert "t ~ 1e+03" in final.sentence
    assert abs(final.gap - 1e-3) < 1e-15
    assert np.isinf(final_configuration([1, 1]).gap)


def test_two_points_say_when_they_extend_the_conjecture():
    assert "extends" not in final_configuration([1, 0.5, 0.25]).sentence
    for V in ([1, 0.5, -0.25], [1, 0.5, 0.5], block_diag(1, pair(0.5, 0.1))):
        assert "extends the conjecture" in final_configuration(V).sentence


def test_the_eigenvalue_of_a_pair_is_complex():
    assert final_configuration(block_diag(pair(1, 2), 0.5)).eigenvalue == pytest.approx(1 + 2j)
    assert isinstance(final_configuration([1, 2]).eigenvalue, float)


@pytest.mark.parametrize("basis", ["orthonormal", "skew"])
@pytest.mark.parametrize(
    "name", ["plane", "space", "plane over blocks", "line", "line over blocks"]
)
def test_the_limit_is_where_the_first_token_goes(name, basis):
    D = block_diag(*TABLE[name][0])
    d = len(D)
    P = random_rotation(d, 3) if basis == "orthonormal" else skew_basis(d, 3, 5.0)
    V = P @ D @ np.linalg.inv(P)
    x1 = pk.sphere.uniform(1, d, seed=4)[0]
    final = final_configuration(V)
    limit = final.limit(x1)
    assert limit.shape == (1 if final.kind == "one point" else 2, d)
    late = first_token(V, x1, [400.0])[0]
    assert np.linalg.norm(limit[0] - late) < 1e-10
    assert np.allclose(final.basis @ (final.basis.T @ limit[0]), limit[0], atol=1e-12)


def test_a_plane_without_an_invariant_complement_is_outside_but_has_a_limit():
    V = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0.5]])
    final = final_configuration(V)
    assert (final.kind, final.status) == ("one point", "outside the table")
    x1 = np.array([0.6, 0.0, 0.8])
    # Along (−2, 0, 1), the other eigenvector: (0.6 + 2·0.8, 0, 0).
    assert np.allclose(final.limit(x1), [[1, 0, 0]])
    x1 = pk.sphere.normalize([-0.8, 0.3, 0.4])
    assert np.allclose(final.limit(x1), [[0, 1, 0]], atol=1e-14)


def test_the_limit_of_the_identity_is_the_first_token():
    x1 = pk.sphere.uniform(1, 3, seed=0)[0]
    assert np.array_equal(final_configuration(2 * np.eye(3)).limit(x1), x1[None])


def test_where_there_is_no_limit_point_an_error_says_so():
    for V in ([-1, -1, -2], [-1, -2, -2], np.zeros((3, 3)), block_diag(pair(1, 1), 0)):
        with pytest.raises(pk.InputError, match="no predicted limit point"):
            final_configuration(V).limit([1.0, 0.0, 0.0])
    with pytest.raises(pk.InputError, match="part in the leading eigenspace"):
        final_configuration([1, 1, -1]).limit([0.0, 0.0, 1.0])
    # Either of ±ξ may come first for a token that has no part in ξ.
    two = final_configuration([1, 0.5, -1]).limit([0.0, 0.0, 1.0])
    assert np.array_equal(np.abs(two), [[1, 0, 0], [1, 0, 0]])
    assert np.array_equal(two[0], -two[1])


@pytest.mark.parametrize("V", [[1, 1, -1], [1, 0.5, 0.25]])
def test_simulated_tokens_end_where_predicted(V):
    x0 = pk.sphere.uniform(16, 3, seed=5)
    run = pk.simulate(pk.Attention(V=V, beta=4.0), x0, 1e6, times="final", method="implicit")
    points = final_configuration(V).limit(x0[0])
    nearest = pk.sphere.distance(run.final[:, None], points[None]).min(axis=1)
    assert nearest.max() < 1e-4


def test_bad_input_gets_a_sentence():
    with pytest.raises(pk.InputError, match="d×d matrix"):
        final_configuration(2.0)
    for shape in ((3, 2), (1, 3)):
        with pytest.raises(pk.InputError, match="V must be a square matrix, got shape"):
            final_configuration(np.ones(shape))
    with pytest.raises(pk.InputError, match="d must be ≥ 2"):
        final_configuration([1.0])
    with pytest.raises(pk.InputError, match="tol must be"):
        final_configuration([1.0, 2.0], tol=1.0)
    with pytest.raises(pk.InputError, match="one token"):
        final_configuration([1.0, 2.0]).limit(np.eye(2))
    with pytest.raises(pk.InputError, match="d=2"):
        final_configuration([1.0, 2.0]).limit([1.0, 0.0, 0.0])


def test_angles_to_the_leading_eigenspace():
    tokens = pk.sphere.normalize([[1, 0, 0], [1, 1, 0], [1, 0, np.tan(0.2)], [0, 0, 1]])
    plane, line = ([1, 1, -1], [1, 0.5, 0.25])
    expected = [0, 0, 0.2, np.pi / 2]
    np.testing.assert_allclose(pk.theory.final_configuration(plane).angles(tokens), expected)
    expected = [0, np.pi / 4, 0.2, np.pi / 2]
    np.testing.assert_allclose(pk.theory.final_configuration(line).angles(tokens), expected)
