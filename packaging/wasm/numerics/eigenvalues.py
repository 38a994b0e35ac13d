"""Eigenvalues of a complex matrix, which native code gets from LAPACK's zgeev.

Householder reflections make the matrix upper Hessenberg. Then QR steps with Wilkinson's shift
split off one eigenvalue after the other (G. Golub, C. Van Loan, Matrix Computations, 4th ed.,
sections 7.4 and 7.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.base.constants import EPSILON
from parkade.engine.compile.jit import njit

_PATIENCE = 60  # the most steps for one eigenvalue; LAPACK allows 30 on average


@njit(allocates=True)
def _to_hessenberg(a: Any) -> None:
    n = a.shape[0]
    v = np.empty(n, dtype=np.complex128)
    for k in range(n - 2):
        square = 0.0
        for i in range(k + 1, n):
            square += a[i, k].real ** 2 + a[i, k].imag ** 2
        size = np.sqrt(square)
        if size == 0.0:
            continue
        first = abs(a[k + 1, k])
        turn = a[k + 1, k] / first if first > 0.0 else 1.0 + 0.0j
        for i in range(k + 1, n):
            v[i] = a[i, k]
        v[k + 1] += turn * size
        factor = 1.0 / (size * (size + first))  # 2 / |v|²
        for c in range(n):
            total = 0.0j
            for i in range(k + 1, n):
                total += v[i].conjugate() * a[i, c]
            for i in range(k + 1, n):
                a[i, c] -= factor * total * v[i]
        for r in range(n):
            total = 0.0j
            for i in range(k + 1, n):
                total += a[r, i] * v[i]
            for i in range(k + 1, n):
                a[r, i] -= factor * total * v[i].conjugate()


@njit(allocates=True)
def _step(a: Any, low: int, high: int, shift: complex) -> None:
    """One QR step with a shift on the rows and columns low … high."""
    for i in range(low, high + 1):
        a[i, i] -= shift
    cosines = np.empty(high - low)
    sines = np.empty(high - low, dtype=np.complex128)
    for i in range(low, high):
        x, y = a[i, i], a[i + 1, i]
        size = np.hypot(abs(x), abs(y))
        c, s = 1.0, 0.0j
        if size > 0.0:
            turn = x / abs(x) if abs(x) > 0.0 else 1.0 + 0.0j
            c, s = abs(x) / size, turn * y.conjugate() / size
        cosines[i - low], sines[i - low] = c, s
        for j in range(i, high + 1):
            upper, lower = a[i, j], a[i + 1, j]
            a[i, j] = c * upper + s * lower
            a[i + 1, j] = c * lower - s.conjugate() * upper
    for i in range(low, high):
        c, s = cosines[i - low], sines[i - low]
        for r in range(low, min(i + 2, high + 1)):
            left, right = a[r, i], a[r, i + 1]
            a[r, i] = c * left + s.conjugate() * right
            a[r, i + 1] = c * right - s * left
    for i in range(low, high + 1):
        a[i, i] += shift


@njit()
def _wilkinson(a: Any, high: int) -> complex:
    """The eigenvalue of the last two rows and columns that is nearer to the last entry."""
    p, q, r, s = a[high - 1, high - 1], a[high - 1, high], a[high, high - 1], a[high, high]
    half = 0.5 * (p - s)
    root = np.sqrt(half * half + q * r)
    if (half.conjugate() * root).real < 0.0:
        root = -root
    sum_of_both = half + root
    return s - q * r / sum_of_both if abs(sum_of_both) > 0.0 else s


@njit(allocates=True)
def eigenvalues(a: Any, out: Any) -> int:
    """Set `out` to the eigenvalues of `a`, which is overwritten; 0, or 1 without convergence."""
    _to_hessenberg(a)
    high, tries = a.shape[0] - 1, 0
    while high >= 0:
        low = high
        while low > 0:
            near = abs(a[low, low]) + abs(a[low - 1, low - 1])
            if abs(a[low, low - 1]) <= EPSILON * near or abs(a[low, low - 1]) < 1e-300:
                a[low, low - 1] = 0.0
                break
            low -= 1
        if low == high:
            out[high] = a[high, high]
            high, tries = high - 1, 0
            continue
        tries += 1
        if tries > _PATIENCE:
            return 1
        shift = _wilkinson(a, high)
        if tries % 10 == 0:  # an exceptional shift, in case the usual ones cycle
            shift = a[high, high] + abs(a[high, high - 1])
        _step(a, low, high, shift)
    return 0
