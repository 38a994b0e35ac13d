"""What the tokens of a `Field` show to each other: queries, keys and values, and who sees whom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.field import Field
from parkade.engine.head_tile import NARROW
from parkade.engine.jit import njit
from parkade.engine.linearization import padded


class Room(NamedTuple):
    """What all tokens show to each other, and arrays that threads do not share."""

    tokens: Array  # (n, d)
    queries: Array  # (n, H m)
    keys: Array  # (H m, padded n)
    values: Array  # (H r, padded n)
    packed: Array  # (H, n, 2 p): keys and values of narrow heads, p components each; or no rows


@njit(allocates=True)
def make_room(field: Field, n: int) -> Room:
    """Room for n tokens."""
    count, ranks = field.keys.shape[0], field.values.shape[0]
    width, heads = padded(n), field.slopes.size
    p = max(count, ranks) // max(1, heads)
    return Room(
        np.empty((n, field.own_value.shape[0])),
        np.empty((n, count)),
        np.zeros((count, width)),
        np.zeros((ranks, width)),
        np.zeros((heads, n if 0 < p <= NARROW else 0, 2 * p)),
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
def _gather(field: Field, x: Array, lo: int, hi: int, room: Room) -> None:
    """Copy the tokens, without what else is in a state."""
    for k in range(lo, hi):
        for c in range(room.tokens.shape[1]):
            room.tokens[k, c] = x[k, c]


@njit()
def _spread(rows: Array, lo: int, out: Array) -> None:
    """Set columns of `out` to rows."""
    for k in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[c, lo + k] = rows[k, c]


@njit()
def _pack(rows: Array, lo: int, at: int, packed: Array) -> None:
    """Copy the components of each head side by side, from column `at` on."""
    heads = packed.shape[0]
    width = rows.shape[1] // heads
    for h in range(heads):
        for k in range(rows.shape[0]):
            for c in range(width):
                packed[h, lo + k, at + c] = rows[k, h * width + c]


@njit()
def _turn_rows(field: Field, lo: int, queries: Array, keys: Array) -> None:
    for k in range(keys.shape[0]):
        turn(field.turns, lo + k, queries[lo + k])
        turn(field.turns, lo + k, keys[k])


@njit(allocates=True, apart=True)
def project(field: Field, x: Array, room: Room, lo: int, hi: int) -> None:
    """Set queries, keys and values of the tokens lo ≤ k < hi."""
    _gather(field, x, lo, hi, room)
    tokens = room.tokens[lo:hi]
    np.dot(tokens, field.queries.T, room.queries[lo:hi])
    keys = np.dot(tokens, field.keys.T)
    _turn_rows(field, lo, room.queries, keys)
    values = np.dot(tokens, field.values.T)
    _spread(keys, lo, room.keys)
    _spread(values, lo, room.values)
    if room.packed.shape[1] > 0:
        p = room.packed.shape[2] // 2
        _pack(keys, lo, 0, room.packed)
        _pack(values, lo, p, room.packed)


@njit(inline="always")
def first_seen(field: Field, k: int) -> int:
    """The first token that token k attends to."""
    return max(0, k - field.window + 1)


@njit(inline="always")
def end_seen(field: Field, k: int, n: int) -> int:
    """The end of the tokens that token k attends to."""
    return min(n, field.prefix) if k < field.prefix - 1 else k + 1
