"""The coefficients of the two Runge–Kutta methods: data only, for any implementation of them.

Dormand–Prince 5(4): J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6 (1980) 19–26. Its dense
output is that of E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I
(1993), section II.6.

RODAS4P: G. Steinebach 1995, in E. Hairer, G. Wanner, Solving Ordinary Differential Equations II
(1996), section IV.7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array


class DormandPrince(NamedTuple):
    """An explicit method of order 5 with an embedded one of order 4.

    With k_s = f(t + nodes_s h, y + h Σ_i A_si k_i), the step ends at y + h Σ_i A_6i k_i, so that
    the seventh stage is the first of the next step. h Σ_s error_s k_s estimates the error.
    """

    A: Array  # (7, 6)
    nodes: Array  # (7,)
    error: Array  # (7,): the result of order 5 minus that of order 4
    dense: Array  # (7,): h Σ_s dense_s k_s is the highest term of the dense output


class Rodas(NamedTuple):
    """A Rosenbrock method of order 4, in the form that needs no product with the Jacobian J.

    Stage s solves (I/(γh) − J) U_s = f(y + Σ_i A_si U_i) + (1/h) Σ_i C_si U_i. The step ends at
    y + Σ_s end_s U_s, and the last U is the error estimate.
    """

    A: Array  # (6, 6)
    C: Array  # (6, 6)
    gamma: float
    dense: Array  # (2, 6): Σ_s dense_is U_s are the two terms of the dense output
    end: Array  # (6,)


def _lower(rows: list[list[float]], width: int) -> Array:
    """A matrix whose first row is zero, and whose next rows begin with these numbers."""
    matrix = np.zeros((1 + len(rows), width))
    for row, values in zip(matrix[1:], rows, strict=True):
        row[: len(values)] = values
    return matrix


def _dormand_prince() -> DormandPrince:
    A = _lower(
        [
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        ],
        width=6,
    )
    nodes = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
    error = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
    dense = np.array(
        [
            -12715105075 / 11282082432,
            0,
            87487479700 / 32700410799,
            -10690763975 / 1880347072,
            701980252875 / 199316789632,
            -1453857185 / 822651844,
            69997945 / 29380423,
        ]
    )
    return DormandPrince(A, nodes, error, dense)


def _rodas4p() -> Rodas:
    fifth = [-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401]
    A = _lower(
        [
            [3.0],
            [1.831036793486759, 0.4955183967433795],
            [2.304376582692669, -0.05249275245743001, -1.176798761832782],
            fifth,
            [*fifth, 1.0],
        ],
        width=6,
    )
    C = _lower(
        [
            [-12.0],
            [-8.791795173947035, -2.207865586973518],
            [10.81793056857153, 6.780270611428266, 19.5348594464241],
            [34.19095006749676, 15.49671153725963, 54.7476087596413, 14.16005392148534],
            [
                34.62605830930532,
                15.30084976114473,
                56.99955578662667,
                18.40807009793095,
                -5.714285714285717,
            ],
        ],
        width=6,
    )
    dense = np.zeros((2, 6))
    dense[0, :4] = [25.09876703708589, 11.62013104361867, 28.49148307714626, -5.664021568594133]
    dense[1, :5] = [
        1.638054557396973,
        -0.7373619806678748,
        8.47791821923899,
        15.9925314877952,
        -1.882352941176471,
    ]
    end = A[5] + np.eye(6)[5]  # the last stage starts where the step ends, but for its own U
    return Rodas(A, C, 0.25, dense, end)


DORMAND_PRINCE = _dormand_prince()
RODAS4P = _rodas4p()
