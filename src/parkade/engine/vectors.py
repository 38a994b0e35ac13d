"""Small loops over arrays of tokens.

They are loops even where NumPy has a short form, because array expressions compile slowly.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit

REACH = 4.0
"""How far, in units of 1/(β|KᵀQ|), the fastest token may go in the first step of a run.

Forces change on this scale. Later steps grow from the first one, limited by their errors.
"""

_BLOCK = 512

NOISE = 16 * float(np.finfo(np.float64).eps)
"""The error of a sum of forces, relative to its terms."""


@njit()
def largest(v: Array) -> float:
    """The largest length of a row of `x`; NaN if any entry is NaN."""
    result = 0.0
    for k in range(v.shape[0]):
        square = 0.0
        for c in range(v.shape[1]):
            square += v[k, c] * v[k, c]
        # Not max(): a NaN must not vanish, in this row or in a later one.
        if not square <= result:
            result = square
            if result != result:
                break
    return float(np.sqrt(result))


@register_jitable
def noise_speed(V: Array, accuracy: float) -> float:
    """The speed that rounding, or the inaccuracy of means, may give to a token."""
    return max(max(NOISE, accuracy) * frobenius(V), 1e-300)  # V may be zero


@register_jitable
def frobenius(matrix: Array) -> float:
    """The Frobenius norm of a matrix."""
    total = 0.0
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            total += matrix[row, column] ** 2
    return float(np.sqrt(total))


@njit()
def total(v: Array) -> float:
    """The sum of all numbers, added in the order in which they are stored."""
    result = 0.0
    for i in range(v.size):
        result += v[i]
    return result


@njit()
def copy(x: Array, out: Array) -> None:
    """Copy the numbers of `x` to `out`."""
    size = x.size
    source, target = x.reshape(size), out.reshape(size)
    for e in range(size):
        target[e] = source[e]


@njit()
def combine(factors: Array, terms: Array, out: Array) -> None:
    """Set out = Σ_i factors_i terms_i, in blocks that stay in the L1 cache."""
    size = out.size
    whole = out.reshape(size)
    for start in range(0, whole.size, _BLOCK):
        # Slices, because loops that begin at 0 are the ones that become vector loops.
        block = whole[start : start + _BLOCK]
        for e in range(block.size):
            block[e] = 0.0
        for i in range(factors.size):
            factor, term = factors[i], terms[i].reshape(size)[start : start + _BLOCK]
            if factor != 0.0:
                for e in range(block.size):
                    block[e] += factor * term[e]


@njit(error_model="numpy")
def normalize(x: Array) -> None:
    """Scale the rows of `x` to unit length."""
    if x.shape[1] == 2:  # in vector registers
        for k in range(x.shape[0]):
            a, b = x[k, 0], x[k, 1]
            scale = 1.0 / np.sqrt(a * a + b * b)
            x[k, 0], x[k, 1] = a * scale, b * scale
        return
    for k in range(x.shape[0]):
        square = 0.0
        for c in range(x.shape[1]):
            square += x[k, c] * x[k, c]
        scale = 1.0 / np.sqrt(square)
        for c in range(x.shape[1]):
            x[k, c] *= scale


@njit(error_model="numpy")
def normalize_first(x: Array, d: int) -> None:
    """Scale the first d columns of rows of `x` to unit length."""
    for k in range(x.shape[0]):
        square = 0.0
        for c in range(d):
            square += x[k, c] * x[k, c]
        scale = 1.0 / np.sqrt(square)
        for c in range(d):
            x[k, c] *= scale


@njit()
def scalar(matrix: Array) -> float:
    """The number c if a matrix is c·I, else 0: multiples of I need no matrix products."""
    for r in range(matrix.shape[0]):
        for c in range(matrix.shape[1]):
            if matrix[r, c] != (matrix[0, 0] if r == c else 0.0):
                return 0.0
    return float(matrix[0, 0])


@njit(fastmath=SUMS)
def fast_sum(values: Array) -> float:
    """The sum of all numbers, in any order."""
    total = 0.0
    for value in values:
        total += value
    return total


@njit(fastmath=SUMS)
def fast_dot(left: Array, right: Array) -> float:
    """The inner product, summed in any order."""
    total = 0.0
    for j in range(left.size):
        total += left[j] * right[j]
    return total


@njit()
def has_moved(x: Array, start: Array, reach: float) -> bool:
    """Whether a token is farther than `reach` from where it was at first, if `reach` is not 0."""
    if reach > 0.0:
        for k in range(start.shape[0]):
            square = 0.0
            for c in range(start.shape[1]):
                square += (x[k, c] - start[k, c]) ** 2
            if square > reach * reach:
                return True
    return False
