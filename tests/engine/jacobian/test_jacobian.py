"""The Jacobian, and linear systems in it, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import random_model
from support.jacobians import assert_solves, chart_field, finite_differences
from support.steps import implicit_step

import parkade as pk
from parkade.solve.lowering.lower import prepare

SHIFTS = np.array([2.0, 4.0, 8.0])
"""In units of the norm of J: shorter steps would show less of J, longer ones go too far."""


@pytest.mark.parametrize("plain", [False, True], ids=["random", "multiples of I"])
@pytest.mark.parametrize("d", [2, 3, 5, 9])
def test_causal_jacobian_against_finite_differences(d, plain):
    n = 7
    model, x = random_model(d, 3.0, seed=d), pk.sphere.uniform(n, d, seed=d)
    if plain:  # matrix products are left out where V or KᵀQ is a multiple of I
        model = pk.Attention(d, beta=3.0, Q=2.0, V=-1.5)
    field = chart_field(model, x)
    jacobian = finite_differences(field, n * (d - 1))
    for shift in np.linalg.norm(jacobian, 2) * SHIFTS:
        work = implicit_step(prepare(model), x, shift)
        assert_solves(work, field, jacobian, x, shift)
    scale = np.abs(jacobian).max()
    np.testing.assert_allclose(work.lin.velocity, model.velocity(x), atol=1e-12 * scale)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_jacobian_with_frozen_tokens_and_as_one_matrix(mask):
    n, d = 6, 3
    model, x = random_model(d, 3.0, 1, mask), pk.sphere.uniform(n, d, seed=1)
    frozen, weights = pk.sphere.uniform(3, d, seed=2), np.array([1.0, 2.5, 4.0])
    field = chart_field(model, x, frozen, weights)
    jacobian = finite_differences(field, n * (d - 1))
    for shift in np.linalg.norm(jacobian, 2) * SHIFTS:
        work = implicit_step(prepare(model, frozen, weights), x, shift)
        assert_solves(work, field, jacobian, x, shift)
    if mask == "full":
        scale = np.abs(jacobian).max()
        np.testing.assert_allclose(work.whole.jacobian, jacobian, atol=2e-9 * scale)


def test_scores_too_large_for_exp_are_shifted():
    d, n = 3, 20
    model, x = random_model(d, 1e4, seed=4), pk.sphere.uniform(n, d, seed=4)
    lin = implicit_step(prepare(model), x, 1.0).lin
    assert np.isfinite(lin.weights).all()
    np.testing.assert_allclose(lin.velocity, model.velocity(x), atol=1e-9)


def test_a_lone_token_has_a_block_of_full_relative_precision():
    # Two tokens at angle 2, β = 200: the force is 1e-123, far below rounding of anything else.
    beta, angle = 200.0, 2.0
    x = pk.sphere.from_angles([0.0, angle])
    lin = implicit_step(prepare(pk.Attention(d=2, beta=beta)), x, 1.0).lin
    weight = np.exp(beta * (np.cos(angle) - 1))
    slope = -weight * (np.cos(angle) - beta * np.sin(angle) ** 2)  # −d/dφ of e^{β(cos φ−1)} sin φ
    assert lin.blocks[1, 0, 0] == pytest.approx(slope, rel=1e-12)
    assert np.linalg.norm(lin.velocity[1]) == pytest.approx(weight * np.sin(angle), rel=1e-12)
