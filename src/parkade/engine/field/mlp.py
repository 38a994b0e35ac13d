"""The MLP of a `Field`: its force and its derivative."""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit
from parkade.engine.field.field import GELU, RELU, Field

_ROOT = 1.0 / math.sqrt(2.0 * math.pi)
_HALF_ROOT = math.sqrt(0.5)


@njit()
def activate(kind: int, z: Array) -> None:
    """Apply the activation, in place."""
    flat = z.reshape(z.size)
    if kind == RELU:
        for i in range(flat.size):
            flat[i] = max(flat[i], 0.0)
    elif kind == GELU:
        for i in range(flat.size):
            flat[i] *= 0.5 * math.erfc(-_HALF_ROOT * flat[i])
    else:
        for i in range(flat.size):
            flat[i] *= 0.5 + 0.5 * math.tanh(0.5 * flat[i])


@njit(allocates=True)
def add_network(field: Field, x: Array, out: Array) -> None:
    """Add G(x) to rows of `out`."""
    hidden = np.dot(x, field.inner.T)
    for k in range(hidden.shape[0]):
        for i in range(hidden.shape[1]):
            hidden[k, i] += field.inner_bias[i]
    activate(field.activation, hidden)
    out += np.dot(hidden, field.outer.T)
    for k in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[k, c] += field.outer_bias[c]


@njit()
def activation_slopes(field: Field, x: Array, out: Array) -> None:
    """Set σ′ at the hidden layer of one token."""
    for i in range(out.size):
        z = field.inner_bias[i]
        for c in range(x.size):
            z += field.inner[i, c] * x[c]
        if field.activation == RELU:
            out[i] = 1.0 if z > 0.0 else 0.0
        elif field.activation == GELU:
            out[i] = 0.5 * math.erfc(-_HALF_ROOT * z) + z * _ROOT * math.exp(-0.5 * z * z)
        else:
            half = 0.5 + 0.5 * math.tanh(0.5 * z)
            out[i] = half * (1.0 + z * (1.0 - half))


@njit(fastmath=SUMS)
def add_derivative(field: Field, slopes: Array, matrix: Array) -> None:
    """Add G′ = W2 diag(σ′) W1."""
    for c in range(matrix.shape[0]):
        target = matrix[c]
        for i in range(slopes.size):
            factor, row = field.outer[c, i] * slopes[i], field.inner[i]
            if factor != 0.0:
                for e in range(target.size):
                    target[e] += factor * row[e]
