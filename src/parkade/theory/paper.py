"""The parameters of the paper's figures."""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy.typing import ArrayLike


class Parameters(NamedTuple):
    """The parameters of a figure; Q = K = I."""

    d: int
    n: int
    beta: float
    t_end: float


FIGURE_1 = Parameters(d=3, n=32, beta=9.0, t_end=5000.0)

TABLE_1: dict[str, tuple[float, ...]] = {
    "V = I": (1, 1, 1),
    "V = diag(1, 1, −1)": (1, 1, -1),
    "V = diag(1, ½, ¼)": (1, 0.5, 0.25),
    "V = diag(−1, −1, −2)": (-1, -1, -2),
    "V = diag(−1, −2, −2)": (-1, -2, -2),
}
"""A value matrix for every row of Table 1, by its name in figures."""

PANELS: dict[str, ArrayLike] = {
    **TABLE_1,
    "V with eigenvalues 1 ± i, 0": ((1, -1, 0), (1, 1, 0), (0, 0, 0)),
}
"""The value matrices of Figure 1: those of Table 1, and one that rotates."""

FIGURE_2 = Parameters(d=2, n=200, beta=64.0, t_end=150.0)
"""Also used for Figure 3."""

SEPARATION = 4.0
"""The paper's c: centres are separated by δ = cβ^{-1/2}."""

DELTA = SEPARATION / math.sqrt(FIGURE_2.beta)
"""δ in Figures 2 and 3."""

LIFE = FIGURE_2._replace(t_end=1e60)
"""Figure 2 continued to the end, which the paper could not reach."""
