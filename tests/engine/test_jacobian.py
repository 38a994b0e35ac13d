"""The Jacobian, and linear systems in it, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from support.jacobians import inverse_columns, tangent_bases

import parkade as pk
from parkade.engine import full_jacobian, pairwise_linear, substitution
from parkade.engine.linearization import allocate, padded
from parkade.engine.substitution import Equations
from parkade.engine.system import LOG2E
from parkade.solve.lower import prepare


def random_model(d: int, seed: int, mask: str = "causal", beta: float = 3.0) -> pk.Attention:
    Q, K, V = np.random.default_rng(seed).normal(size=(3, d, d))
    return pk.Attention(beta=beta, Q=Q, K=K, V=V, mask=mask)  # type: ignore[arg-type]


def linearized(model, x, frozen=None, weights=None):
    system = prepare(model, frozen, weights)
    lin = allocate(*x.shape, causal=model.mask == "causal")
    pairwise_linear.linearize(system, system.query / LOG2E, x, lin)
    return system, lin


def chart_field(model, x, frozen=None, weights=None):
    """dv/dt in the gnomonic chart at x, as a function of tangent coordinates z."""
    n, d = x.shape
    basis = tangent_bases(x)

    def field(z):
        v = np.einsum("kci,ki->kc", basis, z.reshape(n, d - 1))
        r = np.sqrt(1 + np.sum(v * v, axis=1, keepdims=True))
        y = (x + v) / r
        f = model.velocity(y, frozen, weights)
        f = r * (f - r * np.sum(x * f, axis=1, keepdims=True) * y)
        return np.einsum("kci,kc->ki", basis, f).ravel()

    return field


def finite_differences(field, size, h=1e-5):
    columns = []
    for i in range(size):
        z = np.zeros(size)
        z[i] = h
        # Fourth order: the error is about h^4 plus rounding over h, so 1e-10 here.
        columns.append((8 * (field(z) - field(-z)) - field(2 * z) + field(-2 * z)) / (12 * h))
    return np.array(columns).T


def dense_jacobian(system, lin, n, d):
    """The Jacobian by applying the forward substitution's sums to unit vectors.

    The solver gives u = (s − J)^{-1} r; its inverse minus s is −J, which tests weights,
    blocks, their inverses and substitution at once.
    """
    size = d - 1
    shift = 7.0
    inverses = inverse_columns(lin.blocks, shift)
    inverse = np.empty((n * size, n * size))
    basis = tangent_bases(np.ascontiguousarray(lin.keys[:, :n].T))
    for i in range(n * size):
        right = np.zeros((n, d))
        right[i // size] = basis[i // size, :, i % size]
        u = np.zeros((d, padded(n)))
        substitution.solve(system, Equations(lin, inverses, right, u))
        inverse[:, i] = np.einsum("kci,ck->ki", basis, u[:, :n]).ravel()
    return shift * np.eye(n * size) - np.linalg.inv(inverse)


@pytest.mark.parametrize("plain", [False, True], ids=["random", "multiples of I"])
@pytest.mark.parametrize("d", [2, 3, 5, 9])
def test_causal_jacobian_against_finite_differences(d, plain):
    n = 7
    model, x = random_model(d, d), pk.sphere.uniform(n, d, seed=d)
    if plain:  # matrix products are left out where V or KᵀQ is a multiple of I
        model = pk.Attention(d, beta=3.0, Q=2.0, V=-1.5)
    system, lin = linearized(model, x)
    field = chart_field(model, x)
    expected = finite_differences(field, n * (d - 1))
    jacobian = dense_jacobian(system, lin, n, d)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(jacobian, expected, atol=2e-9 * scale)
    np.testing.assert_allclose(lin.velocity, model.velocity(x), atol=1e-12 * scale)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_jacobian_with_frozen_tokens_and_as_one_matrix(mask):
    n, d = 6, 3
    model, x = random_model(d, 1, mask), pk.sphere.uniform(n, d, seed=1)
    frozen, weights = pk.sphere.uniform(3, d, seed=2), np.array([1.0, 2.5, 4.0])
    system, lin = linearized(model, x, frozen, weights)
    field = chart_field(model, x, frozen, weights)
    expected = finite_differences(field, n * (d - 1))
    scale = np.abs(expected).max()
    if mask == "causal":
        jacobian = dense_jacobian(system, lin, n, d)
    else:
        jacobian = np.empty_like(expected)
        full_jacobian.assemble(system, lin, jacobian)
    np.testing.assert_allclose(jacobian, expected, atol=2e-9 * scale)


def test_scores_too_large_for_exp_are_shifted():
    d, n = 3, 20
    model, x = random_model(d, 4, beta=1e4), pk.sphere.uniform(n, d, seed=4)
    _, lin = linearized(model, x)
    assert np.isfinite(lin.weights).all()
    np.testing.assert_allclose(lin.velocity, model.velocity(x), atol=1e-9)


def test_a_lone_token_has_a_block_of_full_relative_precision():
    # Two tokens at angle 2, β = 200: the force is 1e-123, far below rounding of anything else.
    beta, angle = 200.0, 2.0
    x = pk.sphere.from_angles([0.0, angle])
    _, lin = linearized(pk.Attention(d=2, beta=beta), x)
    weight = np.exp(beta * (np.cos(angle) - 1))
    slope = -weight * (np.cos(angle) - beta * np.sin(angle) ** 2)  # −d/dφ of e^{β(cos φ−1)} sin φ
    assert lin.blocks[1, 0, 0] == pytest.approx(slope, rel=1e-12)
    assert np.linalg.norm(lin.velocity[1]) == pytest.approx(weight * np.sin(angle), rel=1e-12)
