"""The frame of a run, as `solve.lowering.frame` finds it with LAPACK."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numerics.matrices import commute, inside, is_zero, largest, set_identity
from numerics.schur import exchange, schur
from numerics.symmetric import diagonalize, spectral_norm
from slots import floats

from parkade.base.constants import EPSILON, SNAP
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.solve.lowering.frame import COUPLED, LEADING_MARGIN


class RunFrame(NamedTuple):
    """The arrays of a frame, and its traits."""

    basis: Array
    spin: Array
    V: Array
    B: Array
    leading: float
    rotates: bool
    attracts: bool
    drifts: bool
    turning: float  # the slowest rate at which tokens rotate forever; 0 if they do not


@njit()
def _basis(V: Array, T: Array, W: Array) -> None:
    """Set T and W to the Schur form of V, as `solve.lowering.frame` does."""
    d = V.shape[0]
    triangular, symmetric, slack = True, True, 1e-15 * largest(V)
    for r in range(d):
        for c in range(d):
            T[r, c] = V[r, c]
            triangular = triangular and (r <= c or V[r, c] == 0.0)
            symmetric = symmetric and abs(V[r, c] - V[c, r]) <= slack
    set_identity(W)
    if triangular:
        return
    if not symmetric:
        schur(T, W)
        return
    for r in range(d):
        for c in range(r):
            T[c, r] = T[r, c]
    diagonalize(T, W)


@njit()
def _gather(T: Array, W: Array) -> None:
    """Gather leading eigenvalues: for d ≤ 3, only the middle one of three can be between others."""
    if T.shape[0] < 3:
        return
    least = max(T[0, 0], T[1, 1], T[2, 2]) - LEADING_MARGIN * largest(T)
    if T[0, 0] >= least and T[2, 2] >= least and T[1, 1] < least:
        exchange(T, W, 1)


@njit()
def _turning(T: Array, margin: float, size: float) -> float:
    """The slowest rate at which leading eigenvalues of a quasi-triangular matrix rotate tokens.

    It is 0 if none of them does; `size` is the norm of the matrix.
    """
    d = T.shape[0]
    top, slowest = -np.inf, np.inf
    for i in range(d):
        top = max(top, T[i, i])
    for i in range(d):
        if T[i, i] >= top - LEADING_MARGIN * size and _imaginary(T, i) > margin * size:
            slowest = min(slowest, _imaginary(T, i))
    return slowest if slowest < np.inf else 0.0


@njit()
def _imaginary(T: Array, i: int) -> float:
    """The absolute imaginary part of the eigenvalue with the real part T[i, i]."""
    d = T.shape[0]
    if i + 1 < d and T[i + 1, i] != 0.0:
        return math.sqrt(abs(T[i + 1, i])) * math.sqrt(abs(T[i, i + 1]))
    if i > 0 and T[i, i - 1] != 0.0:
        return math.sqrt(abs(T[i, i - 1])) * math.sqrt(abs(T[i - 1, i]))
    return 0.0


@njit()
def _is_defective(B: Array) -> bool:
    d = B.shape[0]
    for r in range(d):
        for c in range(r + 1, d):
            coupling = abs(B[r, c])
            if coupling > 0.0 and max(-B[r, r], -B[c, c]) <= COUPLED * coupling:
                return True
    return False


@njit(allocates=True)
def frame_of(V: Array, product: Array, long: bool, may_turn: bool) -> RunFrame:
    """The frame of one head with this KᵀQ, for long runs, or at rest in its own coordinates."""
    d = V.shape[0]
    W, T, S, B, spin = (
        floats((d, d)),
        floats((d, d)),
        floats((d, d)),
        floats((d, d)),
        floats((d, d)),
    )
    _basis(V, T, W)
    _gather(T, W)
    size = spectral_norm(V)
    turning, zero = _turning(T, LEADING_MARGIN, size), SNAP * size
    leading = T[0, 0]
    for i in range(1, d):
        leading = max(leading, T[i, i])
    attracts = leading > SNAP * largest(V)
    if not long:
        set_identity(W)
        for r in range(d):
            for c in range(d):
                T[r, c] = V[r, c]
                B[r, c] = V[r, c] - (leading if r == c else 0.0)
        return RunFrame(W, spin, T, B, leading, turning > 0.0, attracts, False, turning)
    if may_turn and _turning(T, SNAP, size) > 0.0:
        for r in range(d):
            for c in range(d):
                S[r, c] = (T[r, c] - T[c, r]) / 2
                if abs(S[r, c]) <= zero:
                    S[r, c] = 0.0
        other = np.empty((d, d))
        inside(product, W, other)
        if commute(S, T) and commute(S, other):
            turning = 0.0
        else:
            for r in range(d):
                for c in range(d):
                    S[r, c] = 0.0
    snap = not is_zero(S)
    for r in range(d):
        for c in range(d):
            snap = snap or T[r, c] != V[r, c]
    for r in range(d):
        for c in range(d):
            B[r, c] = T[r, c] - (leading if r == c else 0.0) - S[r, c]
            if snap and abs(B[r, c]) <= zero:
                B[r, c] = 0.0
    inside(S, W.T, spin)
    for r in range(d):
        for c in range(r + 1):
            spin[r, c] = (spin[r, c] - spin[c, r]) / 2
            spin[c, r] = -spin[r, c]
    return RunFrame(W, spin, T, B, leading, turning > 0.0, attracts, _is_defective(B), turning)


@njit(allocates=True)
def phase_known_until(frame: RunFrame, tol: float) -> float:
    """When rounding may have rotated tokens by more than `tol`: `rotation.phase_known_until`."""
    spin = spectral_norm(frame.spin)
    return tol / (EPSILON * max(spin, spectral_norm(frame.V))) if spin > 0.0 else np.inf
