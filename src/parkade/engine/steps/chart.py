"""Sums of stages, and the gnomonic chart in which a step works: see `implicit`."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, njit


@njit(allocates=True, fastmath=FUSED, apart=True)
def combine(
    coefficients: Array, scale: float, u: Array, x: Array, out: Array, lo: int, hi: int
) -> None:
    """Set rows of out = x + scale Σ_i coefficients_i u_i, with u_i in (d, n) order."""
    row = np.empty(hi - lo)  # sums run along memory here, and are turned into columns at the end
    start, end = x[lo:hi], out[lo:hi]
    for c in range(x.shape[1]):
        for k in range(row.size):
            row[k] = 0.0
        for i in range(coefficients.size):
            a, term = scale * coefficients[i], u[i, c, lo:hi]
            if a != 0.0:
                for k in range(row.size):
                    row[k] += a * term[k]
        for k in range(row.size):
            end[k, c] = start[k, c] + row[k]


@njit(error_model="numpy")
def to_chart(x: Array, y: Array, out: Array, d: int, lo: int, hi: int) -> None:
    """Turn rows of velocities at y into dv/dt at v = y − x, in the chart at x.

    Tokens are in the first d columns; other columns have no chart, and are left as they are.

    A stage that leaves the chart gives no finite numbers, and its step is rejected.
    """
    for k in range(lo, hi):
        cosine = 0.0
        radial = 0.0
        for c in range(d):
            cosine += x[k, c] * y[k, c]
            radial += x[k, c] * out[k, c]
        r = 1.0 / cosine
        for c in range(d):
            out[k, c] = r * (out[k, c] - r * radial * y[k, c])


@njit()
def quieten(noise: Array, velocity: Array, lo: int, hi: int) -> None:
    """Set rows of velocities to zero that are no larger than rounding may make them."""
    for k in range(lo, hi):
        size = 0.0
        for c in range(velocity.shape[1]):
            size = max(size, abs(velocity[k, c]))
        if size <= noise[k]:
            for c in range(velocity.shape[1]):
                velocity[k, c] = 0.0
