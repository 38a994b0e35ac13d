"""Factors of one matrix for all tokens, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from parkade.engine.jacobian import full_jacobian


@pytest.mark.parametrize("size", [1, 2, 3, 8, 40])
def test_factors_solve_like_numpy(size):
    rng = np.random.default_rng(size)
    matrices = rng.normal(size=(3, size, size))
    matrices[0] = np.eye(size)[::-1]  # zeros on the diagonal: pivots are needed
    for matrix in matrices:
        right = rng.normal(size=size)
        expected = np.linalg.solve(0.3 * np.eye(size) - matrix, right)
        columns, pivots = np.empty((size, size)), np.empty(size, dtype=np.int64)
        full_jacobian.factorize(matrix, 0.3, columns, pivots)
        full_jacobian.substitute(columns, pivots, right)
        bound = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(right, expected, rtol=1e-9, atol=bound)
