"""Groups of eigenvalues that count as one, as in `parkade.model.spectrum`, for d = 2 and 3.

Native code uses LAPACK for this. Here a group or the rest has at most one member, so norms of the
blocks between them are roots of sums of squares.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numerics.schur import schur

from parkade.base.constants import EPSILON, SNAP
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.model.spectrum import WIDEST_GROUP

_SWEEPS = 30


class SchurForm(NamedTuple):
    """V = Z T Zᴴ, with complex triangular T."""

    T: Any
    Z: Any


@njit()
def _to_complex(form: SchurForm, m: int) -> None:
    """Split the 2×2 block that ends in row m, as SciPy's rsf2csf does."""
    T, Z = form
    d = T.shape[0]
    a, b = T[m - 1, m - 1].real, T[m - 1, m].real
    c, e = T[m, m - 1].real, T[m, m].real
    half = (a - e) / 2
    mu = half + 1j * math.sqrt(max(0.0, -(half * half + b * c)))
    size = math.sqrt(mu.real**2 + mu.imag**2 + c * c)
    cosine, sine = mu / size, c / size
    for k in range(m - 1, d):
        x, y = T[m - 1, k], T[m, k]
        T[m - 1, k] = cosine.conjugate() * x + sine * y
        T[m, k] = -sine * x + cosine * y
    for k in range(m + 1):
        x, y = T[k, m - 1], T[k, m]
        T[k, m - 1] = x * cosine + y * sine
        T[k, m] = -x * sine + y * cosine.conjugate()
    for k in range(d):
        x, y = Z[k, m - 1], Z[k, m]
        Z[k, m - 1] = x * cosine + y * sine
        Z[k, m] = -x * sine + y * cosine.conjugate()


@njit(allocates=True)
def triangular(V: Array) -> SchurForm:
    """The complex Schur form of V."""
    d = V.shape[0]
    real, W = V.copy(), np.empty((d, d))
    schur(real, W)
    form = SchurForm(np.empty((d, d), dtype=np.complex128), np.empty((d, d), dtype=np.complex128))
    for r in range(d):
        for c in range(d):
            form.T[r, c], form.Z[r, c] = real[r, c], W[r, c]
    for m in range(d - 1, 0, -1):
        size = abs(real[m - 1, m - 1]) + abs(real[m, m])
        if abs(real[m, m - 1]) > EPSILON * size:
            _to_complex(form, m)
        form.T[m, m - 1] = 0.0
    return form


@njit(allocates=True)
def condition(T: Any, i: int, least: float) -> float:
    """The condition number of the eigenvalue T[i, i]."""
    d = T.shape[0]
    x = np.zeros(d, dtype=np.complex128)
    square, other = 0.0, 0.0
    for r in range(i - 1, -1, -1):
        total = T[r, i]
        for c in range(r + 1, i):
            total -= T[r, c] * x[c]
        gap = T[r, r] - T[i, i]
        x[r] = total / (gap if abs(gap) >= least else least)
        square += abs(x[r]) ** 2
    for c in range(i + 1, d):
        total = T[i, c]
        for r in range(i + 1, c):
            total -= T[r, c] * x[r]
        gap = T[c, c] - T[i, i]
        x[c] = total / (gap if abs(gap) >= least else least)
        other += abs(x[c]) ** 2
    kappa = math.sqrt(1 + square) * math.sqrt(1 + other)
    return min(kappa, 1e100) if kappa == kappa else 1e100


@njit()
def summary(T: Any, kappa: Array, label: Any, i: int) -> tuple[complex, float, int]:
    """The mean, the largest κ and the size of group i."""
    total, worst, size = 0.0j, 0.0, 0
    for k in range(label.size):
        if label[k] == i:
            total += T[k, k]
            worst = max(worst, kappa[k])
            size += 1
    return total / size, worst, size


@njit(allocates=True)
def groups(T: Any, kappa: Array, norm: float, label: Any) -> int:
    """Set `label` to the index of the group of each eigenvalue; return the number of groups."""
    d = label.size
    for k in range(d):
        label[k] = k
    count = d
    joined = np.empty(d, dtype=np.int64)
    while True:
        for i in range(count):
            joined[i] = i
        for i in range(count):
            mean, worst, _ = summary(T, kappa, label, i)
            for j in range(i + 1, count):
                other, wide, _ = summary(T, kappa, label, j)
                reach = min(SNAP * math.sqrt(worst * wide), WIDEST_GROUP) * norm
                if abs(mean - other) <= reach:
                    low, high = min(joined[i], joined[j]), max(joined[i], joined[j])
                    for k in range(count):
                        if joined[k] == high:
                            joined[k] = low
        fewer = 0
        for i in range(count):  # make the indices of groups consecutive
            if joined[i] == i:
                for j in range(i, count):
                    if joined[j] == i:
                        joined[j] = fewer
                fewer += 1
        if fewer == count:
            return count
        for k in range(d):
            label[k] = joined[label[k]]
        count = fewer


@njit()
def _swap(form: SchurForm, k: int) -> None:
    """Exchange the eigenvalues in places k and k + 1, as LAPACK's ztrexc does."""
    T, Z = form
    d = T.shape[0]
    first, second = T[k, k], T[k + 1, k + 1]
    f, g = T[k, k + 1], second - first
    size = math.sqrt(abs(f) ** 2 + abs(g) ** 2)
    cosine, sine = 1.0, 0.0j
    if size > 0.0 and abs(g) > 0.0:
        turn = f / abs(f) if abs(f) > 0.0 else 1.0 + 0.0j
        cosine, sine = abs(f) / size, turn * g.conjugate() / size
    for c in range(k + 2, d):
        x, y = T[k, c], T[k + 1, c]
        T[k, c] = cosine * x + sine * y
        T[k + 1, c] = cosine * y - sine.conjugate() * x
    for r in range(k):
        x, y = T[r, k], T[r, k + 1]
        T[r, k] = cosine * x + sine.conjugate() * y
        T[r, k + 1] = cosine * y - sine * x
    for r in range(d):
        x, y = Z[r, k], Z[r, k + 1]
        Z[r, k] = cosine * x + sine.conjugate() * y
        Z[r, k + 1] = cosine * y - sine * x
    T[k, k], T[k + 1, k + 1] = second, first


@njit(allocates=True)
def _kernel(E: Any, tolerance: float, out: Any) -> int:
    """Set `out` to right singular vectors of values ≤ tolerance, at least one; return how many."""
    k = E.shape[0]
    vectors = np.zeros((k, k), dtype=np.complex128)
    for i in range(k):
        vectors[i, i] = 1.0
    for _ in range(_SWEEPS):
        turned = False
        for p in range(k):
            for q in range(p + 1, k):
                first, second, product = 0.0, 0.0, 0.0j
                for r in range(k):
                    first += abs(E[r, p]) ** 2
                    second += abs(E[r, q]) ** 2
                    product += E[r, p].conjugate() * E[r, q]
                size = abs(product)
                if size <= 1e-17 * math.sqrt(first * second) or size == 0.0:
                    continue
                turned = True
                phase = product.conjugate() / size
                zeta = (second - first) / (2 * size)
                tangent = 1.0 / (abs(zeta) + math.hypot(1.0, zeta))
                tangent = -tangent if zeta < 0 else tangent
                cosine = 1 / math.sqrt(1 + tangent * tangent)
                for matrix in (E, vectors):
                    for r in range(k):
                        x, y = matrix[r, p], matrix[r, q] * phase
                        matrix[r, p] = cosine * (x - tangent * y)
                        matrix[r, q] = cosine * (tangent * x + y)
        if not turned:
            break
    count, least, smallest = 0, 0, np.inf
    for c in range(k):
        square = 0.0
        for r in range(k):
            square += abs(E[r, c]) ** 2
        if square < smallest:
            least, smallest = c, square
        if math.sqrt(square) <= tolerance:
            for r in range(k):
                out[r, count] = vectors[r, c]
            count += 1
    if count == 0:  # there is at least one eigenvector
        for r in range(k):
            out[r, 0] = vectors[r, least]
        count = 1
    return count


class LeadingGroup(NamedTuple):
    """Eigenvalues that count as one; see `parkade.model.spectrum`."""

    value: complex
    size: int
    tolerance: float
    dim: int
    normal: bool


@njit(allocates=True)
def group_of(
    original: SchurForm, label: Any, which: int, unit: float, vectors: Any, projection: Array
) -> LeadingGroup:
    """The group `which`; set first columns of `vectors` to its eigenspace, add to `projection`."""
    form = SchurForm(original.T.copy(), original.Z.copy())
    T, Z = form
    d, k = T.shape[0], 0
    for i in range(d):
        if label[i] == which:
            for j in range(i - 1, k - 1, -1):
                _swap(form, j)
            k += 1
    value, square, coupling = 0.0j, 0.0, 0.0
    for i in range(k):
        value += T[i, i] / k
    X = np.zeros((k, d), dtype=np.complex128)  # [I, X]
    for i in range(k):
        X[i, i] = 1.0
    for j in range(k, d):
        for i in range(k - 1, -1, -1):
            total = T[i, j]
            for m in range(i + 1, k):
                total -= T[i, m] * X[m, j]
            for m in range(k, j):
                total += X[i, m] * T[m, j]
            X[i, j] = total / (T[i, i] - T[j, j])
            square += abs(X[i, j]) ** 2
            coupling += abs(T[i, j]) ** 2
    tolerance = k * unit * math.sqrt(1 + square)
    excess = np.empty((k, k), dtype=np.complex128)
    kernel = np.zeros((k, k), dtype=np.complex128)
    for i in range(k):
        for j in range(k):
            excess[i, j] = T[i, j] - (value if i == j else 0.0)
    dim = _kernel(excess, tolerance, kernel)
    for r in range(d):
        for c in range(dim):
            vectors[r, c] = 0.0j
            for i in range(k):
                vectors[r, c] += Z[r, i] * kernel[i, c]
        for c in range(d):
            for i in range(k):
                for j in range(d):
                    projection[r, c] += (Z[r, i] * X[i, j] * Z[c, j].conjugate()).real
    return LeadingGroup(value, k, tolerance, dim, math.sqrt(coupling) <= k * unit)
