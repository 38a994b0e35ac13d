"""Attention sums of narrow heads, in tiles of several queries; see `head_tile`."""

from __future__ import annotations

import math

from parkade.base.types import Array
from parkade.engine.field import Field
from parkade.engine.field_room import Room, end_seen, first_seen
from parkade.engine.head_tile import (
    END,
    FIRST,
    KEY,
    PLACE,
    QUERY,
    ROWS,
    TOTALS,
    tile_masked,
    tile_plain,
)
from parkade.engine.jit import njit
from parkade.engine.simd import LANES, MAX_SCORE


@njit()
def _fill(field: Field, room: Room, h: int, k: int, hi: int, block: Array) -> bool:
    """Set the block of the queries from k on; the last fills up. Whether no score is too large."""
    n, m = room.tokens.shape[0], room.queries.shape[1] // field.slopes.size
    for lane in range(LANES):
        i = min(k + lane, hi - 1)
        square, own = 0.0, 0.0
        for c in range(m):
            query, key = room.queries[i, h * m + c], room.packed[h, i, c]
            block[QUERY + c, lane], block[KEY + c, lane] = query, key
            square += query * query
            own += query * key
        if not math.sqrt(square) * field.reach[h] - own <= MAX_SCORE:
            return False
        block[FIRST, lane], block[END, lane] = first_seen(field, i), end_seen(field, i, n)
        block[PLACE, lane] = i
        for c in range(TOTALS, ROWS):
            block[c, lane] = 0.0
    return True


@njit()
def _run_tiles(
    field: Field, room: Room, h: int, k: int, hi: int, block: Array, dims: tuple[None, ...]
) -> None:
    """Sum over all keys that queries from k on see; in the middle all of them see all."""
    n, packed = room.tokens.shape[0], room.packed[h]
    first, end = first_seen(field, k), end_seen(field, hi - 1, n)
    left = min(k, first_seen(field, hi - 1))
    right = max(hi, min(end_seen(field, k, n), end))
    tile_masked(block, packed, first, left, dims)
    tile_plain(block, packed, left, k, dims)
    tile_masked(block, packed, k, hi, dims)
    tile_plain(block, packed, hi, right, dims)
    tile_masked(block, packed, right, max(end, end_seen(field, k, n)), dims)


@njit(error_model="numpy")
def narrow_means(
    field: Field, room: Room, h: int, k: int, hi: int, block: Array, out: Array
) -> bool:
    """ν of a head for up to `LANES` tokens from k on, by tiles; False if these do not apply."""
    p, r = room.packed.shape[2] // 2, room.values.shape[0] // field.slopes.size
    if room.packed.shape[1] == 0 or field.slopes[h] != 0.0:
        return False
    if not _fill(field, room, h, k, hi, block):
        return False
    if p == 1:
        _run_tiles(field, room, h, k, hi, block, (None,))
    elif p == 2:
        _run_tiles(field, room, h, k, hi, block, (None, None))
    elif p == 3:
        _run_tiles(field, room, h, k, hi, block, (None, None, None))
    else:
        _run_tiles(field, room, h, k, hi, block, (None, None, None, None))
    for lane in range(hi - k):
        total = block[TOTALS + p, lane]
        for c in range(r):
            pulled = block[TOTALS + c, lane] - total * room.packed[h, k + lane, p + c]
            out[lane, h * r + c] = pulled / (total + 1.0)
    return True
