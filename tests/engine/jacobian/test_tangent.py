"""Coordinates in the tangent space."""

from __future__ import annotations

import numpy as np
import pytest
from support.jacobians import tangent_bases

import parkade as pk
from parkade.engine.jacobian import tangent


@pytest.mark.parametrize("d", [2, 3, 8])
def test_tangent_coordinates(d):
    x = np.concatenate([pk.sphere.uniform(20, d, seed=d), np.eye(d), -np.eye(d)])
    basis = tangent_bases(x)
    for k in range(len(x)):
        full = np.column_stack([x[k], basis[k]])
        np.testing.assert_allclose(full.T @ full, np.eye(d), atol=1e-15)
        v = np.random.default_rng(k).normal(size=d)
        z = np.empty(d - 1)
        tangent.to_tangent(x[k], tangent.axis(x[k]), v, z)
        np.testing.assert_allclose(z, basis[k].T @ v, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_a_matrix_in_tangent_coordinates(d):
    x = np.concatenate([pk.sphere.uniform(5, d, seed=d), np.eye(d)])
    basis = tangent_bases(x)
    for k in range(len(x)):
        matrix = np.random.default_rng(k).normal(size=(d, d))
        expected = basis[k].T @ matrix @ basis[k]
        room, out = np.empty((2, d)), np.empty((d - 1, d - 1))
        tangent.matrix_to_tangent(x[k], tangent.axis(x[k]), matrix, *room, out)
        np.testing.assert_allclose(out, expected, atol=1e-13)
