"""Attention sums of narrow heads, in tiles of several queries; see `head_tile`."""

from __future__ import annotations

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
    tile_causal,
    tile_masked,
    tile_plain,
)
from parkade.engine.jit import njit
from parkade.engine.simd import LANES, MAX_SCORE


@njit()
def _fill(field: Field, room: Room, h: int, k: int, hi: int, block: Array) -> bool:
    """Set the block of the queries from k on; the last fills up. Whether scores are moderate."""
    m, last = room.queries.shape[1] // field.slopes.size, hi - k - 1
    queries, keys = room.queries[k:hi], room.packed[h][k:hi]
    squares, own = block[FIRST], block[END]  # room: `_set_edges` comes later
    for lane in range(LANES):
        squares[lane], own[lane], block[PLACE, lane] = 0.0, 0.0, k + min(lane, last)
    for c in range(m):
        query, key = block[QUERY + c], block[KEY + c]
        for lane in range(LANES):
            query[lane] = queries[min(lane, last), h * m + c]
            key[lane] = keys[min(lane, last), c]
        for lane in range(LANES):
            squares[lane] += query[lane] * query[lane]
            own[lane] += query[lane] * key[lane]
    for c in range(TOTALS, ROWS):
        row = block[c]
        for lane in range(LANES):
            row[lane] = 0.0
    # |q| reach + |own| ≤ MAX_SCORE for all of them, and no NaN.
    fits, reach = True, field.reach[h] * field.reach[h]
    for lane in range(LANES):
        most = MAX_SCORE - abs(own[lane])
        fits &= most >= 0.0 and squares[lane] * reach <= most * most
    return fits


@njit()
def _set_edges(field: Field, n: int, k: int, hi: int, block: Array) -> None:
    """Set what each query sees."""
    for lane in range(LANES):
        i = min(k + lane, hi - 1)
        block[FIRST, lane], block[END, lane] = first_seen(field, i), end_seen(field, i, n)


@njit()
def _run_tiles(
    field: Field, room: Room, h: int, k: int, hi: int, block: Array, dims: tuple[None, ...]
) -> None:
    """Sum over all keys that queries from k on see; in the middle all of them see all."""
    n, packed = room.tokens.shape[0], room.packed[h]
    first, last_first = first_seen(field, k), first_seen(field, hi - 1)
    if last_first == 0 and k >= field.prefix:  # no edges but the diagonal
        tile_plain(block, packed, 0, k, dims)
        tile_causal(block, packed, k, hi - 1, dims)
        return
    _set_edges(field, n, k, hi, block)
    end = end_seen(field, k, n)
    left, right = min(k, last_first), max(hi, min(end, end_seen(field, hi - 1, n)))
    tile_masked(block, packed, first, left, dims)
    tile_plain(block, packed, left, k, dims)
    tile_masked(block, packed, k, hi, dims)
    tile_plain(block, packed, hi, right, dims)
    tile_masked(block, packed, right, max(end, end_seen(field, hi - 1, n)), dims)


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
        scale = 1.0 / (total + 1.0)
        for c in range(r):
            pulled = block[TOTALS + c, lane] - total * room.packed[h, k + lane, p + c]
            out[lane, h * r + c] = scale * pulled
    return True
