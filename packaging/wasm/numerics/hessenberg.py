"""The first steps towards the Schur form of a small matrix: permutations and reflections."""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import njit


@njit()
def _swap(T: Array, order: Array, i: int, j: int) -> None:
    """Exchange rows and columns i and j."""
    if i == j:
        return
    order[i], order[j] = order[j], order[i]
    for c in range(T.shape[0]):
        T[c, i], T[c, j] = T[c, j], T[c, i]
    for c in range(T.shape[0]):
        T[i, c], T[j, c] = T[j, c], T[i, c]


@njit()
def _alone(T: Array, i: int, low: int, high: int, across: bool) -> bool:
    """Whether row i (if `across`) or column i is zero outside of the diagonal."""
    for j in range(low, high + 1):
        if j != i and (T[i, j] if across else T[j, i]) != 0.0:
            return False
    return True


@njit()
def permute(T: Array, order: Array) -> tuple[int, int]:
    """Move isolated eigenvalues to both ends; return the first and last row between them."""
    low, high = 0, T.shape[0] - 1
    again = True
    while again:
        again = False
        for i in range(high, -1, -1):
            if _alone(T, i, 0, high, True):
                _swap(T, order, i, high)
                if high == 0:
                    return 0, 0
                high -= 1
                again = True
                break
    again = True
    while again:
        again = False
        for i in range(low, high + 1):
            if _alone(T, i, low, high, False):
                _swap(T, order, i, low)
                low += 1
                again = True
                break
    return low, high


@njit(error_model="numpy")
def reflector(v: Array, size: int) -> float:
    """Change v to the vector (1, v₂, v₃) of the reflection that takes it to the first axis.

    Return the factor of the reflection. In place of the 1, v has the result of the reflection.
    """
    rest = abs(v[1]) if size == 2 else math.hypot(v[1], v[2])
    if rest == 0.0:
        return 0.0
    first = -math.copysign(math.hypot(v[0], rest), v[0])
    tau = (first - v[0]) / first
    scale = 1.0 / (v[0] - first)
    for i in range(1, size):
        v[i] *= scale
    v[0] = first
    return tau


@njit(allocates=True)
def to_hessenberg(T: Array, W: Array, low: int, high: int) -> None:
    """Reduce T to Hessenberg form: by one reflection, since d ≤ 3."""
    if high - low < 2:
        return
    v = np.empty(3)
    v[0], v[1] = T[low + 1, low], T[low + 2, low]
    tau = reflector(v, 2)
    T[low + 1, low], T[low + 2, low] = v[0], 0.0
    d = T.shape[0]
    v[0] = 1.0
    reflect_columns(T, v, tau, low + 1, 2, 0, high + 1)
    reflect_rows(T, v, tau, low + 1, 2, low + 1, d)
    reflect_columns(W, v, tau, low + 1, 2, 0, d)


@njit()
def reflect_rows(T: Array, v: Array, tau: float, k: int, size: int, begin: int, end: int) -> None:
    """Reflect rows k … k + size − 1, in the columns from `begin` up to `end`."""
    for j in range(begin, end):
        total = T[k, j]
        for i in range(1, size):
            total += v[i] * T[k + i, j]
        T[k, j] -= total * tau
        for i in range(1, size):
            T[k + i, j] -= total * (tau * v[i])


@njit()
def reflect_columns(
    T: Array, v: Array, tau: float, k: int, size: int, begin: int, end: int
) -> None:
    """Reflect columns k … k + size − 1, in the rows from `begin` up to `end`."""
    for j in range(begin, end):
        total = T[j, k]
        for i in range(1, size):
            total += v[i] * T[j, k + i]
        T[j, k] -= total * tau
        for i in range(1, size):
            T[j, k + i] -= total * (tau * v[i])
