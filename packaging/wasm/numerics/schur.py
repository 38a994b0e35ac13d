"""The real Schur form of a small matrix, as LAPACK's dgees finds it, and exchanges of eigenvalues.

The steps are LAPACK's, so that eigenvalues come in the same order: permute, reduce to Hessenberg
form (`hessenberg`), take QR steps with two shifts, and bring blocks of two to a standard form
(G. Golub, C. Van Loan, Matrix Computations, 4th ed., section 7.5). Arrays are changed in place.
"""

from __future__ import annotations

import math

import numpy as np
from numerics.hessenberg import permute, reflect_columns, reflect_rows, reflector, to_hessenberg
from numerics.matrices import set_identity

from parkade.base.constants import EPSILON
from parkade.base.types import Array
from parkade.engine.compile.jit import njit

_TINY = float(np.finfo(np.float64).tiny)
_PATIENCE = 300
_UNUSUAL = 10  # steps from one exceptional shift to the next
_SHIFTS = 0.75, -0.4375


@njit(allocates=True)
def schur(T: Array, W: Array) -> None:
    """Change T to its quasi-triangular form, and set W so that W T Wᵀ is the original T."""
    d = T.shape[0]
    order = np.arange(d)
    low, high = permute(T, order)
    set_identity(W)
    to_hessenberg(T, W, low, high)
    last = high
    while last >= low:
        last = _split_off(T, W, low, last, high) - 1
    out = W.copy()
    for r in range(d):
        for c in range(d):
            W[order[r], c] = out[r, c]


@njit(allocates=True)
def _split_off(T: Array, W: Array, low: int, last: int, high: int) -> int:
    """Take QR steps until one or two rows up to `last` split off; return the first of them."""
    v = np.empty(3)
    first = low
    for tries in range(1, _PATIENCE):
        first = _first(T, low, last, high)
        if first > low:
            T[first, first - 1] = 0.0
        if first >= last - 1:
            break
        _step(T, W, v, first, last, tries)
    if first == last - 1:
        _standardize(T, W, last)
    return first


@njit(error_model="numpy")
def _first(T: Array, low: int, last: int, high: int) -> int:
    """The first row of the block that ends with row `last` and is not yet split."""
    small = _TINY * ((high - low + 1) / EPSILON)
    k = last
    while k > low:
        below = abs(T[k, k - 1])
        if below <= small:
            break
        size = abs(T[k - 1, k - 1]) + abs(T[k, k])
        if size == 0.0:
            if k - 2 >= low:
                size += abs(T[k - 1, k - 2])
            if k + 1 <= high:
                size += abs(T[k + 1, k])
        if below <= EPSILON * size:
            above, gap = abs(T[k - 1, k]), abs(T[k - 1, k - 1] - T[k, k])
            more, less = max(below, above), min(below, above)
            far, near = max(abs(T[k, k]), gap), min(abs(T[k, k]), gap)
            total = far + more
            if less * (more / total) <= max(small, EPSILON * (near * (far / total))):
                break
        k -= 1
    return k


@njit(error_model="numpy")
def _step(T: Array, W: Array, v: Array, first: int, last: int, tries: int) -> None:
    """One QR step with two shifts on rows first … last."""
    d = T.shape[0]
    if tries % _UNUSUAL == 0:
        size = abs(T[last, last - 1]) + abs(T[last - 1, last - 2])
        corner = T[last, last]
        if tries % (2 * _UNUSUAL) != 0:
            size = abs(T[first + 1, first]) + abs(T[first + 2, first + 1])
            corner = T[first, first]
        a, b, c = _SHIFTS[0] * size + corner, _SHIFTS[1] * size, size
        e = a
    else:
        a, b = T[last - 1, last - 1], T[last - 1, last]
        c, e = T[last, last - 1], T[last, last]
    scale = abs(a) + abs(b) + abs(c) + abs(e)
    one, other, imaginary = 0.0, 0.0, 0.0
    if scale > 0.0:
        a, b, c, e = a / scale, b / scale, c / scale, e / scale
        mean = (a + e) / 2.0
        determinant = (a - mean) * (e - mean) - b * c
        root = math.sqrt(abs(determinant))
        if determinant >= 0.0:
            one = other = mean * scale
            imaginary = root * scale
        else:
            one, other = mean + root, mean - root
            one = other = (one if abs(one - e) <= abs(other - e) else other) * scale
    m = first  # with three rows at most, a step begins with the first one
    below = abs(T[m + 1, m])
    size = abs(T[m, m] - other) + abs(imaginary) + below
    below = T[m + 1, m] / size
    v[0] = below * T[m, m + 1] + (T[m, m] - one) * ((T[m, m] - other) / size)
    v[0] += imaginary * (imaginary / size)
    v[1] = below * (T[m, m] + T[m + 1, m + 1] - one - other)
    v[2] = below * T[m + 2, m + 1]
    size = abs(v[0]) + abs(v[1]) + abs(v[2])
    for i in range(3):
        v[i] /= size
    for k in range(m, last):
        rows = min(3, last - k + 1)
        if k > m:
            for i in range(rows):
                v[i] = T[k + i, k - 1]
        tau = reflector(v, rows)
        if k > m:
            T[k, k - 1] = v[0]
            for i in range(1, rows):
                T[k + i, k - 1] = 0.0
        reflect_rows(T, v, tau, k, rows, k, d)
        reflect_columns(T, v, tau, k, rows, 0, min(k + 3, last) + 1)
        reflect_columns(W, v, tau, k, rows, 0, d)


@njit()
def _rotate_all(T: Array, W: Array, i: int, cosine: float, sine: float) -> None:
    """Rotate T beside and above the block of rows i − 1 and i, and the columns of W."""
    d = T.shape[0]
    for j in range(i + 1, d):
        upper, lower = T[i - 1, j], T[i, j]
        T[i - 1, j] = cosine * upper + sine * lower
        T[i, j] = cosine * lower - sine * upper
    for j in range(i - 1):
        left, right = T[j, i - 1], T[j, i]
        T[j, i - 1] = cosine * left + sine * right
        T[j, i] = cosine * right - sine * left
    for j in range(d):
        left, right = W[j, i - 1], W[j, i]
        W[j, i - 1] = cosine * left + sine * right
        W[j, i] = cosine * right - sine * left


@njit(error_model="numpy")
def _standardize(T: Array, W: Array, i: int) -> None:
    """Make the block of rows i − 1 and i triangular, or its diagonal entries equal (dlanv2)."""
    a, b, c, e = T[i - 1, i - 1], T[i - 1, i], T[i, i - 1], T[i, i]
    cosine, sine = 1.0, 0.0
    if c == 0.0:
        return
    if b == 0.0:
        cosine, sine = 0.0, 1.0
        a, b, c, e = e, -c, 0.0, a
    elif a - e == 0.0 and (b > 0.0) != (c > 0.0):
        return
    else:
        gap = a - e
        p = 0.5 * gap
        larger = max(abs(b), abs(c))
        signed = math.copysign(1.0, b) * math.copysign(1.0, c) * min(abs(b), abs(c))
        scale = max(abs(p), larger)
        z = (p / scale) * p + (larger / scale) * signed
        if z >= 4.0 * EPSILON:  # two real eigenvalues
            z = p + math.copysign(math.sqrt(scale) * math.sqrt(z), p)
            a, e = e + z, e - (larger / z) * signed
            tau = math.hypot(c, z)
            cosine, sine = z / tau, c / tau
            b, c = b - c, 0.0
        else:  # a pair, or two that are nearly equal
            sigma = b + c
            tau = math.hypot(sigma, gap)
            cosine = math.sqrt(0.5 * (1.0 + abs(sigma) / tau))
            sine = -(p / (tau * cosine)) * math.copysign(1.0, sigma)
            aa, bb = a * cosine + b * sine, -a * sine + b * cosine
            cc, ee = c * cosine + e * sine, -c * sine + e * cosine
            a, b = aa * cosine + cc * sine, bb * cosine + ee * sine
            c, e = -aa * sine + cc * cosine, -bb * sine + ee * cosine
            mean = 0.5 * (a + e)
            a = e = mean
            if c != 0.0 and b == 0.0:
                b, c = -c, 0.0
                cosine, sine = -sine, cosine
            elif c != 0.0 and (b > 0.0) == (c > 0.0):
                over, under = math.sqrt(abs(b)), math.sqrt(abs(c))
                p = math.copysign(over * under, c)
                tau = 1.0 / math.sqrt(abs(b + c))
                a, e = mean + p, mean - p
                b, c = b - c, 0.0
                one, other = over * tau, under * tau
                cosine, sine = cosine * one - sine * other, cosine * other + sine * one
    T[i - 1, i - 1], T[i - 1, i], T[i, i - 1], T[i, i] = a, b, c, e
    _rotate_all(T, W, i, cosine, sine)


@njit()
def exchange(T: Array, W: Array, i: int) -> None:
    """Exchange the different real eigenvalues of rows i and i + 1, as LAPACK's dlaexc does."""
    upper, lower, between = T[i, i], T[i + 1, i + 1], T[i, i + 1]
    size = math.hypot(between, lower - upper)
    _rotate_all(T, W, i + 1, between / size, (lower - upper) / size)
    T[i, i], T[i + 1, i + 1] = lower, upper
