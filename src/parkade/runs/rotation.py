"""Rotations of a frame: how to apply them, and until when their phase is known."""

from __future__ import annotations

import numpy as np

from parkade.base.constants import EPSILON
from parkade.base.types import Array


def turn(spin: Array, times: Array, x: Array) -> Array:
    """e^{t·spin} x for each time t: `times` (T,), `x` (T, n, d)."""
    if not spin.any():
        return x
    rates, planes = _planes(spin)
    # Each plane rotates by its own angle, which preserves lengths at any t.
    angles = np.outer(times, rates)[:, None]  # (T, 1, planes)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x @ planes[0], x @ planes[1]  # (T, n, planes)
    moved = ((cos - 1) * first - sin * second, (cos - 1) * second + sin * first)
    turned: Array = x + moved[0] @ planes[0].T + moved[1] @ planes[1].T
    before, after = (np.linalg.norm(v, axis=-1, keepdims=True) for v in (x, turned))
    turned *= before / np.maximum(after, 1e-300)
    return turned


def _planes(spin: Array) -> tuple[Array, Array]:
    """The rates of a rotation, and its planes as an orthonormal basis, (2, d, planes)."""
    import scipy.linalg

    # The real Schur form of an antisymmetric matrix has blocks of 2×2, and an orthonormal basis.
    T, W = scipy.linalg.schur((spin - spin.T) / 2, output="real")
    corners = np.flatnonzero(np.abs(np.diagonal(T, -1)) > EPSILON * np.abs(T).max())
    return T[corners + 1, corners], np.stack([W[:, corners], W[:, corners + 1]])


def phase_known_until(spin: Array, generator: Array | None, tol: float) -> float:
    """The time after which rounding of the rates may rotate tokens by more than `tol`.

    Rates are eigenvalues of the `generator` of the model, V, and have rounding errors of its size.
    """
    if not spin.any():
        return np.inf
    norms = [float(np.linalg.norm(m, 2)) for m in (spin, generator) if m is not None]
    return tol / (EPSILON * max(norms))
