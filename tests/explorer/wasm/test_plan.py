"""What the module of plans has instead of NumPy, SciPy and LAPACK: packaging/wasm."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.linalg
from support.builder import interpreted

import parkade as pk
from parkade.engine.sums.series import SERIES
from parkade.model import matrices
from parkade.model.parts.head import Head
from parkade.solve.lowering import frame as native
from parkade.solve.planning import rules


@pytest.fixture
def part(monkeypatch):
    """Gives a module, interpreted."""
    return lambda name: interpreted(monkeypatch, name)[0]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**53 - 1])
def test_random_numbers_are_those_of_numpy(seed, d, part):
    draws = part("numerics.draws")
    x, m = np.empty((40, d)), np.empty((d, d))
    with np.errstate(over="ignore"):  # as it is meant: products modulo 2⁶⁴
        draws.uniform(float(seed), x)
        draws.gaussian(float(seed), ord("K"), m)
    np.testing.assert_array_equal(x, pk.sphere.uniform(40, d, seed))
    np.testing.assert_array_equal(m, matrices.seeded("K", seed, d))


def test_a_logarithm_for_the_tails(part):
    """The same as that of the C library, but for one rounding now and then."""
    log1p = part("numerics.draws")._log1p
    rng = np.random.default_rng(1)
    x = -np.concatenate([rng.random(2000), rng.random(500) * 10.0 ** -rng.integers(1, 20, 500)])
    result, expected = np.array([(log1p(v), math.log1p(v)) for v in x]).T
    assert (np.abs(result - expected) <= np.spacing(np.abs(expected))).all()
    assert (result == expected).mean() > 0.995


def test_numbers_with_twice_the_digits(part):
    precise = part("numerics.precise")
    rng = np.random.default_rng(2)

    def exact(wide):
        return Fraction(wide[0]) + Fraction(wide[1])

    for a, b, c, e in rng.normal(size=(200, 4)):
        one, other = precise.plus((a, 0.0), (1e-17 * b, 0.0)), precise.times((c, 0.0), e)
        for result, expected in (
            (precise.plus(one, other), exact(one) + exact(other)),
            (precise.minus(one, other), exact(one) - exact(other)),
            (precise.product(one, other), exact(one) * exact(other)),
            (precise.ratio(one, other), exact(one) / exact(other)),
        ):
            assert abs(exact(result) - expected) <= Fraction(2) ** -100 * abs(expected)
        assert precise.fused(a, b, c) == float(Fraction(a) * Fraction(b) + Fraction(c))


@pytest.mark.parametrize("beta", [1e-20, 1e-3, 0.3, 1.0, 9.0, 64.0, 300.0])
@pytest.mark.parametrize("tail", [5e-12, 1e-15])
def test_coefficients(beta, tail, part):
    """On the sphere to the last bit; on the circle, native ones have errors of their own."""
    ours = part("numerics.coefficients")
    table = SERIES[3].table(beta, tail)
    np.testing.assert_array_equal(ours.legendre(beta, tail), table)
    result, expected = ours.fourier(beta, tail), SERIES[2].table(beta, tail)
    assert result.shape == expected.shape
    largest = np.abs(expected).max(axis=1)
    gap = np.abs(result - expected).max(axis=1)
    assert (gap <= 1e-14 * largest * np.maximum(1.0, [1, 1, beta, beta, beta, 1])).all()


def test_coefficients_add_up(part):
    """The exponential of β(cos φ − 1), and its sine series, at a few angles."""
    beta = 64.0
    table = part("numerics.coefficients").fourier(beta, 1e-15)
    for angle in (0.0, 0.1, 1.0, 3.0):
        weight = math.exp(beta * (math.cos(angle) - 1))
        assert table[0] @ np.cos(angle * table[5]) == pytest.approx(weight, abs=1e-14)
        result = table[1] @ np.sin(angle * table[5])
        assert result == pytest.approx(weight * math.sin(angle), abs=1e-14)
        result = table[2] @ np.cos(angle * table[5])
        assert result == pytest.approx(weight * (math.cos(angle) - 1), abs=1e-14)


def some_matrices():
    """Of all kinds: with pairs, symmetric, with equal eigenvalues, and nearly defective."""
    rng = np.random.default_rng(3)
    for d in (2, 3):
        for _ in range(60):
            yield rng.normal(size=(d, d))
            yield rng.integers(-2, 3, size=(d, d)).astype(float)
            half = rng.normal(size=(d, d))
            yield half + half.T
            basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
            yield basis @ np.diag(rng.integers(-1, 3, size=d)) @ basis.T
            turning = np.diag(rng.normal(size=d))
            a, b = rng.normal(size=2)
            turning[:2, :2] = [[a, -b], [b, a]]
            yield basis @ turning @ basis.T


def nearly_defective_matrices():
    """With blocks of equal eigenvalues in a skew basis, so that rounding parts them."""
    rng = np.random.default_rng(6)
    for d in (2, 3):
        for _ in range(40):
            skew = rng.normal(size=(d, d))
            yield skew @ np.triu(rng.integers(0, 2, size=(d, d))) @ np.linalg.inv(skew)


def test_the_schur_form(part):
    """Orthonormal and quasi-triangular; mostly the very one that LAPACK finds."""
    schur = part("numerics.schur").schur
    same = []
    for V in (*some_matrices(), *nearly_defective_matrices()):
        T, W = V.copy(), np.empty_like(V)
        schur(T, W)
        scale = max(1e-300, np.abs(V).max())
        np.testing.assert_allclose(W @ T @ W.T, V, rtol=0, atol=1e-14 * scale)
        np.testing.assert_allclose(W.T @ W, np.eye(len(V)), rtol=0, atol=1e-14)
        assert not np.tril(T, -2).any()
        for i in np.flatnonzero(np.diagonal(T, -1)):  # a pair, in its standard form
            assert T[i, i] == T[i + 1, i + 1]
            assert T[i, i + 1] * T[i + 1, i] <= 0
        expected = scipy.linalg.schur(V, output="real")[0]
        same.append(np.allclose(T, expected, rtol=0, atol=1e-12 * scale))
    assert np.mean(same) > 0.9


def test_eigenvectors_and_norms(part):
    ours = part("numerics.symmetric")
    for V in some_matrices():
        A = V + V.T
        D, W = A.copy(), np.empty_like(A)
        ours.diagonalize(D, W)
        values, scale = np.linalg.eigvalsh(A), max(1e-300, np.abs(A).max())
        np.testing.assert_allclose(D.diagonal(), values, rtol=0, atol=1e-14 * scale)
        np.testing.assert_allclose(W * D.diagonal() @ W.T, A, rtol=0, atol=1e-14 * scale)
        assert ours.spectral_norm(V) == pytest.approx(np.linalg.norm(V, 2), rel=1e-14)


def test_frames(part):
    """In the coordinates of the model they are those of `solve.lowering.frame`.

    Not for matrices whose eigenvalues are all zero, but for rounding: any frame will do.
    """
    frame_of = part("runs.framing").frame_of
    rng = np.random.default_rng(4)
    apart = np.array([[1.0, 0.1, -0.3], [0.0, 0.9, 0.3], [0.0, 0.0, 1.0]])  # 1, and 1 again
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for V in (*some_matrices(), turn @ apart @ turn.T, apart):
        d, scale = len(V), np.abs(V).max()
        if np.abs(np.linalg.eigvals(V)).max() <= 1e-4 * scale:
            continue
        K = np.eye(d) if rng.random() < 0.7 else rng.normal(size=(d, d))
        head = Head(np.eye(d), K, V)
        for long, turns in ((False, False), (True, False), (True, True)):
            expected = native.rest_frame(head)
            if long:
                expected = native.long_run_frame(head, frozen=not turns)
            result = frame_of(V.copy(), head.product, long, turns)
            for name in ("rotates", "attracts", "drifts"):
                assert getattr(result, name) == getattr(expected, name), (V, name)
            slack = 1e-6 if expected.drifts else 1e-11
            assert result.leading == pytest.approx(expected.leading, abs=slack * scale)
            np.testing.assert_allclose(result.spin, expected.spin, rtol=0, atol=slack * scale)
            for name in ("V", "B"):
                ours, theirs = (f.basis @ getattr(f, name) @ f.basis.T for f in (result, expected))
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=slack * scale)
    assert not result.B[:2, :2].any()  # of the last one: leading eigenvalues are neighbours


def test_rounding_in_a_nilpotent_matrix_turns_no_frame(part):
    """All its eigenvalues are 0, but the Schur form of some has complex pairs."""
    frame_of, schur = part("runs.framing").frame_of, part("numerics.schur").schur
    rng, pairs = np.random.default_rng(6), 0
    for d, scale in product((2, 3), (1.0, 1e-7, 3e5)):
        for _ in range(20):
            turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
            V = scale * turn @ np.eye(d, k=d - 1) @ turn.T
            T = V.copy()
            schur(T, np.empty_like(V))
            pairs += np.tril(T, -1).any()
            for long, turns in ((False, False), (True, False), (True, True)):
                result = frame_of(V.copy(), np.eye(d), long, turns)
                assert not result.rotates
                assert result.turning == 0.0
                assert not result.spin.any()
    assert pairs > 0


def test_products_are_rounded_as_in_blas(part):
    """Whether KᵀQ is a multiple of I depends on it; so does the choice of sums."""
    product = part("runs.planning").transposed_product
    rng = np.random.default_rng(5)
    same = []
    for d in (2, 3):
        for _ in range(50):
            turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
            result = np.empty((d, d))
            product(1.0, turn, turn, result)
            np.testing.assert_allclose(result, turn.T @ turn, rtol=0, atol=1e-15)
            same.append(np.array_equal(result, Head(turn, turn, 1.0).product))
    assert np.mean(same) > 0.9  # kernels of BLAS differ


def test_verdicts_have_a_method_and_a_reason():
    assert len(rules.VERDICTS) == rules.INSTEAD + 1
    assert {method for method, _ in rules.VERDICTS} == {"explicit", "implicit"}
