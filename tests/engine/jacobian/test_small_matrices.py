"""Inverses and growth rates of small matrices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.jacobians import inverse_columns

from parkade.engine.jacobian import small_matrices


@pytest.mark.parametrize("size", [1, 2, 3, 8, 40])
def test_inverses_solve_like_numpy(size):
    rng = np.random.default_rng(size)
    blocks = rng.normal(size=(3, size, size))
    blocks[0] = np.eye(size)[::-1]  # zeros on the diagonal: pivots are needed
    inverses = inverse_columns(blocks, 0.3)
    for k in range(3):
        right, result = rng.normal(size=size), np.empty(inverses.shape[2])
        small_matrices.apply(inverses[k], right, result)
        expected = np.linalg.solve(0.3 * np.eye(size) - blocks[k], right)
        bound = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(result[:size], expected, rtol=1e-9, atol=bound)
        assert not result[size:].any()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_growth_is_the_largest_real_part(size):
    rng = np.random.default_rng(size)
    for shift in (-10.0, -1.0, 0.0, 10.0):
        block = rng.normal(size=(size, size)) + shift * np.eye(size)
        top = np.linalg.eigvals(block).real.max()
        assert small_matrices.growth(block, 0.0) == pytest.approx(max(top, 0.0), abs=1e-12)
        assert small_matrices.growth(block, 5.0) == pytest.approx(
            top if top > 5 else 0.0, abs=1e-12
        )
