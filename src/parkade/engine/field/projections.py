"""Queries, keys and values of the tokens of a `Field`, and which tokens attend to which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, njit
from parkade.engine.field.field import Field
from parkade.engine.jacobian.linearization import padded

FEW = 8
"""The largest dimension in which matrix products of tokens are loops instead of calls of BLAS."""


class Projections(NamedTuple):
    """Queries, keys and values of all tokens, which the threads of a velocity share."""

    tokens: Array  # (n, d)
    queries: Array  # (H m, padded n)
    keys: Array  # (H m, padded n)
    values: Array  # (H r, padded n)


@njit(allocates=True)
def allocate_projections(field: Field, n: int) -> Projections:
    """Projections of n tokens, not yet computed."""
    count, ranks = field.keys.shape[0], field.values.shape[0]
    width = padded(n)
    return Projections(
        np.empty((n, field.own_value.shape[0])),
        np.zeros((count, width)),
        np.zeros((count, width)),
        np.zeros((ranks, width)),
    )


@njit()
def turn(turns: Array, k: int, vector: Array) -> None:
    """Turn the queries or keys of all heads of token k, (H m,), in place."""
    heads, planes = turns.shape
    m = vector.size // max(1, heads)
    for h in range(heads):
        for i in range(planes):
            angle = k * turns[h, i]
            c, s, first = np.cos(angle), np.sin(angle), h * m + 2 * i
            a, b = vector[first], vector[first + 1]
            vector[first], vector[first + 1] = c * a - s * b, s * a + c * b


@njit()
def _gather(field: Field, x: Array, lo: int, hi: int, projections: Projections) -> None:
    """Copy the tokens, without what else is in a state."""
    for k in range(lo, hi):
        for c in range(projections.tokens.shape[1]):
            projections.tokens[k, c] = x[k, c]


@njit()
def to_columns(rows: Array, out: Array) -> None:
    """Set columns of `out` to rows."""
    for k in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[c, k] = rows[k, c]


@njit(fastmath=FUSED)
def multiply_few(matrix: Array, columns: Array, size: int, out: Array, lo: int) -> None:
    """Set columns of `out` from `lo` on, `size` of them, to those of a product.

    For matrices with few columns, where a call of BLAS takes longer than the product.
    """
    count = matrix.shape[1]
    for i in range(matrix.shape[0]):
        target, factors = out[i][lo : lo + size], matrix[i]
        for k in range(size):
            target[k] = 0.0
        if count % 2 == 1:
            a, one = columns[0][:size], factors[0]
            for k in range(size):
                target[k] = one * a[k]
        for e in range(count % 2, count, 2):
            a, b = columns[e][:size], columns[e + 1][:size]
            one, two = factors[e], factors[e + 1]
            for k in range(size):
                target[k] += one * a[k] + two * b[k]


@njit()
def _put(columns: Array, lo: int, out: Array) -> None:
    """Set columns of `out` from `lo` on."""
    for i in range(columns.shape[0]):
        row, target = columns[i], out[i][lo : lo + columns.shape[1]]
        for k in range(row.size):
            target[k] = row[k]


@njit(allocates=True, apart=True)
def project(field: Field, x: Array, projections: Projections, lo: int, hi: int) -> None:
    """Set queries, keys and values of the tokens lo ≤ k < hi."""
    _gather(field, x, lo, hi, projections)
    tokens = projections.tokens[lo:hi]
    if tokens.shape[1] <= FEW:
        columns = np.empty((tokens.shape[1], hi - lo))
        to_columns(tokens, columns)
        multiply_few(field.queries, columns, hi - lo, projections.queries, lo)
        multiply_few(field.keys, columns, hi - lo, projections.keys, lo)
        multiply_few(field.values, columns, hi - lo, projections.values, lo)
    else:
        _put(np.dot(field.queries, tokens.T), lo, projections.queries)
        _put(np.dot(field.keys, tokens.T), lo, projections.keys)
        _put(np.dot(field.values, tokens.T), lo, projections.values)
    if field.turns.shape[1] > 0:
        for k in range(lo, hi):
            turn(field.turns, k, projections.queries[:, k])
            turn(field.turns, k, projections.keys[:, k])


@njit(inline="always")
def first_seen(field: Field, k: int) -> int:
    """The first token that token k attends to."""
    return max(0, k - field.window + 1)


@njit(inline="always")
def end_seen(field: Field, k: int, n: int) -> int:
    """The end of the tokens that token k attends to."""
    return min(n, field.prefix) if k < field.prefix - 1 else k + 1
