"""Gradients of energies on the sphere, from differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parkade.base.types import Array

# Central differences of eighth order: f′ ≈ Σ w_i (f(+i·s) − f(−i·s)) / s.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def gradient(
    energy: Callable[[Array], Array], x: Array, k: int, step: float
) -> tuple[Array, Array]:
    """An orthonormal basis of the tangents at token k, (d − 1, d), and the derivatives along it.

    `energy` takes tokens (..., n, d). Token k moves along great circles in steps of `step`.
    """
    basis = np.linalg.svd(x[k : k + 1])[2][1:]
    s = step * np.array([1, -1, 2, -2, 3, -3, 4, -4])[:, None, None]
    moved = np.broadcast_to(x, (8, len(basis), *x.shape)).copy()
    moved[:, :, k] = np.cos(s) * x[k] + np.sin(s) * basis
    e = energy(moved)
    return basis, np.array(_WEIGHTS) @ (e[::2] - e[1::2]) / step
