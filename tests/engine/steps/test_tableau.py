"""The coefficients satisfy what the orders of the methods ask for."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import EPS, slope

from parkade.engine.steps.tableau import DORMAND_PRINCE, RODAS4P


def test_shapes():
    assert [v.shape for v in DORMAND_PRINCE] == [(7, 6), (7,), (7,), (7,)]
    gamma = RODAS4P.gamma
    assert [v.shape for v in RODAS4P._replace(gamma=np.array(gamma))] == [
        (6, 6),
        (6, 6),
        (),
        (2, 6),
        (6,),
    ]


def test_dormand_prince_rows_sum_to_the_nodes():
    np.testing.assert_allclose(DORMAND_PRINCE.A.sum(axis=1), DORMAND_PRINCE.nodes, atol=16 * EPS)
    assert not np.triu(DORMAND_PRINCE.A).any()  # explicit


@pytest.mark.parametrize("power", range(5))
def test_dormand_prince_integrates_polynomials(power):
    """Order 5 of the end, order 4 of the embedded method: their difference integrates to zero."""
    A, nodes, error, _ = DORMAND_PRINCE
    terms = nodes**power
    assert A[6] @ terms[:6] == pytest.approx(1 / (power + 1), abs=16 * EPS)
    if power < 4:
        assert abs(error @ terms) <= 16 * EPS
    else:
        assert abs(error @ terms) > 1e-4


def test_dormand_prince_has_the_tree_conditions_of_order_four():
    A, nodes, _, _ = DORMAND_PRINCE
    b, square = A[6], np.pad(A, ((0, 0), (0, 1)))[:6, :6]
    assert b @ square @ nodes[:6] == pytest.approx(1 / 6, abs=16 * EPS)
    assert b @ square @ nodes[:6] ** 2 == pytest.approx(1 / 12, abs=16 * EPS)
    assert b @ square @ square @ nodes[:6] == pytest.approx(1 / 24, abs=16 * EPS)


def rosenbrock_step(z):
    """One step of size 1 of y' = z y from y = 1: its end and the error estimate."""
    U = np.zeros(6)
    for s in range(6):
        right = z * (1 + RODAS4P.A[s] @ U) + RODAS4P.C[s] @ U
        U[s] = right / (1 / RODAS4P.gamma - z)
    return 1 + RODAS4P.end @ U, U[5]


def test_rodas_follows_the_exponential_to_order_four():
    z = -(2.0 ** -np.arange(1, 6))
    errors = [abs(rosenbrock_step(v)[0] - np.exp(v)) for v in z]
    assert slope(-z, errors) == pytest.approx(5, abs=0.3)
    estimates = [abs(rosenbrock_step(v)[1]) for v in z]
    assert slope(-z, estimates) == pytest.approx(4, abs=0.3)


def test_rodas_damps_what_is_fast():
    assert abs(rosenbrock_step(-1e12)[0]) < 1e-10
