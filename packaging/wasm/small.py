"""The norm of a small matrix, for which native code has LAPACK."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parkade.engine.jit import njit

_SWEEPS = 30


@njit(allocates=True)
def norm(matrix: Any) -> float:
    """The largest singular value, by Jacobi's rotations of columns until all are orthogonal."""
    d = matrix.shape[0]
    a = matrix.copy()
    for _ in range(_SWEEPS):
        turned = False
        for p in range(d):
            for q in range(p + 1, d):
                first, second, product = 0.0, 0.0, 0.0
                for r in range(d):
                    first += a[r, p] * a[r, p]
                    second += a[r, q] * a[r, q]
                    product += a[r, p] * a[r, q]
                if abs(product) <= 1e-17 * math.sqrt(first * second):
                    continue
                turned = True
                zeta = (second - first) / (2 * product)
                tangent = 1.0 / (abs(zeta) + math.sqrt(1 + zeta * zeta))
                tangent = -tangent if zeta < 0 else tangent
                cosine = 1 / math.sqrt(1 + tangent * tangent)
                for r in range(d):
                    x, y = a[r, p], a[r, q]
                    a[r, p] = cosine * (x - tangent * y)
                    a[r, q] = cosine * (tangent * x + y)
        if not turned:
            break
    largest = 0.0
    for c in range(d):
        square = 0.0
        for r in range(d):
            square += a[r, c] * a[r, c]
        largest = max(largest, square)
    return float(np.sqrt(largest))
