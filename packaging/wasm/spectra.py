"""The leading eigenvalues of a small matrix and what they span, as `model.spectrum` finds them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from schur import schur
from symmetric import spectral_norm

from parkade.base.types import Array
from parkade.engine.jit import njit
from parkade.model.spectrum import _WIDEST

_EPSILON = float(np.finfo(np.float64).eps)
_SWEEPS = 30


class Spectrum(NamedTuple):
    """Groups of eigenvalues that count as equal."""

    T: Any  # V = Z T Zᴴ, T triangular
    Z: Any
    label: Any  # the group of each eigenvalue, (d,)
    means: Any  # of each group, (d,), as many as there are groups
    leads: Any  # whether its real part is the largest, (d,)
    count: int  # groups
    gap: float  # between the largest real part and the next
    norm: float


class Group(NamedTuple):
    """One of them, with its invariant subspace."""

    value: complex
    size: int
    tolerance: float
    dim: int  # of the eigenspace
    vectors: Any  # (d, dim) of (d, d): its orthonormal basis
    projection: Any  # onto the invariant subspace, along the others
    normal: bool  # whether it is orthogonal


@njit()
def _mix(a: Any, p: int, q: int, one: complex, other: complex, across: bool) -> None:
    """Multiply rows, or columns by the inverse, with the rotation (c̄, s; −s̄, c)."""
    for i in range(a.shape[0]):
        if across:
            x, y = a[p, i], a[q, i]
            a[p, i] = one.conjugate() * x + other * y
            a[q, i] = one * y - other.conjugate() * x
        else:
            x, y = a[i, p], a[i, q]
            a[i, p] = one * x + other.conjugate() * y
            a[i, q] = one.conjugate() * y - other * x


@njit()
def _rotate(T: Any, Z: Any, m: int, x: complex, y: complex) -> None:
    """Rotate rows and columns m − 1 and m by the rotation that takes (x, y) to the first axis."""
    size = math.hypot(abs(x), abs(y))
    if size == 0.0:
        return
    _mix(T, m - 1, m, x / size, y.conjugate() / size, True)
    _mix(T, m - 1, m, x / size, y.conjugate() / size, False)
    _mix(Z, m - 1, m, x / size, y.conjugate() / size, False)
    T[m, m - 1] = 0.0


@njit(allocates=True)
def _triangular(V: Array) -> tuple[Any, Any]:
    """The complex Schur form."""
    d = V.shape[0]
    real, W = V.copy(), np.empty((d, d))
    schur(real, W)
    T, Z = np.empty((d, d), dtype=np.complex128), np.empty((d, d), dtype=np.complex128)
    for r in range(d):
        for c in range(d):
            T[r, c], Z[r, c] = real[r, c], W[r, c]
    for m in range(d - 1, 0, -1):
        below = real[m, m - 1]
        if abs(below) > _EPSILON * (abs(real[m - 1, m - 1]) + abs(real[m, m])):
            # The diagonal of such a block is constant: ± i times this is added to it.
            imaginary = math.sqrt(abs(below)) * math.sqrt(abs(real[m - 1, m]))
            _rotate(T, Z, m, complex(0.0, imaginary), complex(below, 0.0))
        T[m, m - 1] = 0.0
    return T, Z


@njit(allocates=True, error_model="numpy")
def _conditions(T: Any, norm: float) -> Array:
    """Condition numbers of the eigenvalues of a triangular matrix."""
    d = T.shape[0]
    kappa = np.ones(d)
    least = _EPSILON * (norm if norm > 0.0 else 1.0)
    x = np.empty(d, dtype=np.complex128)
    for i in range(d):
        right = left = 0.0
        for r in range(i - 1, -1, -1):
            total = T[r, i]
            for c in range(r + 1, i):
                total -= T[r, c] * x[c]
            x[r] = total / _apart(T[r, r] - T[i, i], least)
            right += abs(x[r]) ** 2
        for c in range(i + 1, d):
            total = T[i, c]
            for r in range(i + 1, c):
                total -= T[r, c] * x[r]
            x[c] = total / _apart(T[c, c] - T[i, i], least)
            left += abs(x[c]) ** 2
        found = math.sqrt(1.0 + right) * math.sqrt(1.0 + left)
        kappa[i] = found if found <= 1e100 else 1e100
    return kappa


@njit()
def _apart(gap: complex, least: float) -> complex:
    return gap if abs(gap) >= least else complex(least, 0.0)


@njit()
def _summarize(values: Any, kappa: Array, label: Any, means: Any, worst: Array) -> int:
    """The mean and the largest κ of each group; how many there are."""
    count = 0
    for g in range(values.size):
        total, size = 0.0j, 0
        worst[g] = 0.0
        for i in range(values.size):
            if label[i] == g:
                total += values[i]
                size += 1
                worst[g] = max(worst[g], kappa[i])
        if size > 0:
            means[g] = total / size
            count = g + 1
    return count


@njit()
def _join(label: Any, one: int, other: int) -> None:
    """Make two groups one, and number all groups in the order of their first members."""
    low, high = min(one, other), max(one, other)
    for i in range(label.size):
        if label[i] == high:
            label[i] = low
        elif label[i] > high:
            label[i] -= 1


@njit(allocates=True)
def _grouped(values: Any, kappa: Array, norm: float, tol: float) -> Any:
    """The group of each eigenvalue: as `equal_values`, which joins all pairs of a round at once."""
    d = values.size
    label, joined = np.arange(d), np.arange(d)
    means, worst = np.empty(d, dtype=np.complex128), np.empty(d)
    while True:
        count = _summarize(values, kappa, label, means, worst)
        for g in range(count):
            joined[g] = g
        left = count
        for i in range(count):
            for j in range(i + 1, count):
                reach = min(tol * math.sqrt(worst[i] * worst[j]), max(tol, _WIDEST)) * norm
                if abs(means[i] - means[j]) <= reach and joined[i] != joined[j]:
                    _join(joined[:count], joined[i], joined[j])
                    left -= 1
        if left == count:
            return label
        for i in range(d):
            label[i] = joined[label[i]]


@njit(allocates=True)
def spectrum(V: Array, tol: float) -> Spectrum:
    """Group the eigenvalues of V, and find which lead."""
    d = V.shape[0]
    norm = spectral_norm(V)
    T, Z = _triangular(V)
    values = np.empty(d, dtype=np.complex128)
    for i in range(d):
        values[i] = T[i, i]
    kappa = _conditions(T, norm)
    label = _grouped(values, kappa, norm, tol)
    means, worst = np.empty(d, dtype=np.complex128), np.empty(d)
    count = _summarize(values, kappa, label, means, worst)
    top = 0
    for g in range(count):
        top = g if means[g].real > means[top].real else top
    leads, gap = np.zeros(d, dtype=np.bool_), np.inf
    for g in range(count):
        slack = min(tol * norm * math.sqrt(worst[g] * worst[top]), max(tol, _WIDEST) * norm)
        lower = means[top].real - means[g].real
        leads[g] = lower <= slack
        if not leads[g]:
            gap = min(gap, lower)
    return Spectrum(T, Z, label, means, leads, count, gap, norm)


@njit(allocates=True, error_model="numpy")
def group_of(found: Spectrum, which: int, tol: float) -> Group:
    """A group with its subspaces."""
    T, Z, label = found.T.copy(), found.Z.copy(), found.label.copy()
    d = label.size
    k = _to_front(T, Z, label, which)
    value = 0.0j
    for i in range(k):
        value += T[i, i]
    value /= k
    X = np.zeros((d, d), dtype=np.complex128)  # its first k rows, from column k on
    beside = size = 0.0
    for j in range(k, d):
        for i in range(k - 1, -1, -1):
            total = T[i, j]
            for p in range(i + 1, k):
                total -= T[i, p] * X[p, j]
            for q in range(k, j):
                total += X[i, q] * T[q, j]
            X[i, j] = total / (T[i, i] - T[j, j])
            size += abs(X[i, j]) ** 2
            beside += abs(T[i, j]) ** 2
    # With d ≤ 3 these are rows or columns, so that the square root is the spectral norm.
    unit = tol * found.norm
    tolerance = k * unit * math.sqrt(1.0 + size)
    normal = k == d or math.sqrt(beside) <= k * unit
    vectors, dim = _kernel(T, Z, k, value, tolerance)
    projection = np.zeros((d, d), dtype=np.complex128)
    for r in range(d):
        for c in range(d):
            total = 0.0j
            for i in range(k):
                across = Z[c, i].conjugate()
                for j in range(k, d):
                    across += X[i, j] * Z[c, j].conjugate()
                total += Z[r, i] * across
            projection[r, c] = total
    return Group(value, k, tolerance, dim, vectors, projection, normal)


@njit()
def _to_front(T: Any, Z: Any, label: Any, which: int) -> int:
    """Move the eigenvalues of a group to the front, in their order; how many there are."""
    k = 0
    for i in range(label.size):
        if label[i] != which:
            continue
        for m in range(i, k, -1):  # swap neighbours: rotate the first eigenvector of the block
            _rotate(T, Z, m, T[m - 1, m], T[m, m] - T[m - 1, m - 1])
            label[m] = label[m - 1]
        label[k] = which
        k += 1
    return k


@njit(allocates=True)
def _kernel(T: Any, Z: Any, k: int, value: complex, tolerance: float) -> tuple[Any, int]:
    """The eigenvectors in the first columns, and how many there are; at least one.

    One-sided rotations make the columns of T − value·I orthogonal: their lengths are the singular
    values, small ones too.
    """
    d = T.shape[0]
    A, turned = np.zeros((d, d), dtype=np.complex128), np.zeros((d, d), dtype=np.complex128)
    for r in range(k):
        turned[r, r] = 1.0
        for c in range(r, k):
            A[r, c] = T[r, c] - (value if r == c else 0.0)
    for _ in range(_SWEEPS):
        for p in range(k):
            for q in range(p + 1, k):
                _orthogonalize(A, turned, p, q, k)
    lengths = np.zeros(d)
    least = 0
    for c in range(k):
        square = 0.0
        for r in range(k):
            square += abs(A[r, c]) ** 2
        lengths[c] = math.sqrt(square)
        least = c if lengths[c] < lengths[least] else least
    dim = 0
    vectors = np.zeros((d, d), dtype=np.complex128)
    for c in range(k):
        if lengths[c] <= tolerance or (c == least and lengths[least] > tolerance):
            for r in range(d):
                for i in range(k):
                    vectors[r, dim] += Z[r, i] * turned[i, c]
            dim += 1
    return vectors, dim


@njit(error_model="numpy")
def _orthogonalize(A: Any, turned: Any, p: int, q: int, k: int) -> None:
    """Rotate two columns so that they are orthogonal."""
    one = other = 0.0
    inner = 0.0j
    for r in range(k):
        one += abs(A[r, p]) ** 2
        other += abs(A[r, q]) ** 2
        inner += A[r, p].conjugate() * A[r, q]
    size = abs(inner)
    if size <= 1e-300 or size <= 1e-17 * math.sqrt(one * other):
        return
    phase = inner / size
    zeta = (other - one) / (2.0 * size)
    t = math.copysign(1.0, zeta) / (abs(zeta) + math.hypot(1.0, zeta))
    cosine = 1.0 / math.hypot(1.0, t)
    sine = cosine * t
    for r in range(k):
        x, y = A[r, p], A[r, q] * phase.conjugate()
        A[r, p], A[r, q] = cosine * x - sine * y, sine * x + cosine * y
        x, y = turned[r, p], turned[r, q] * phase.conjugate()
        turned[r, p], turned[r, q] = cosine * x - sine * y, sine * x + cosine * y


@njit(allocates=True)
def real_basis(vectors: Any, columns: int, basis: Array) -> None:
    """Set an orthonormal real basis of the span of complex vectors and their conjugates.

    It has as many columns as that span has dimensions. The longest part that is left comes next.
    """
    d, dim = basis.shape
    parts = np.empty((d, 2 * columns))
    for r in range(d):
        for c in range(columns):
            parts[r, 2 * c], parts[r, 2 * c + 1] = vectors[r, c].real, vectors[r, c].imag
    for b in range(dim):
        chosen, longest = 0, -1.0
        for c in range(2 * columns):
            square = 0.0
            for r in range(d):
                square += parts[r, c] ** 2
            if square > longest:
                chosen, longest = c, square
        for r in range(d):
            basis[r, b] = parts[r, chosen] / math.sqrt(longest)
        for _ in range(2):
            for c in range(2 * columns):
                along = 0.0
                for r in range(d):
                    along += basis[r, b] * parts[r, c]
                for r in range(d):
                    parts[r, c] -= along * basis[r, b]
