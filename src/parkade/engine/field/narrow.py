"""Attention sums of narrow heads, in tiles of several queries; see `head_tile`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import LANES
from parkade.engine.field.field import Field
from parkade.engine.field.head_tile import (
    AT_ONCE,
    BOUNDS,
    COLUMN,
    END,
    FIRST,
    HEAD,
    KEYS,
    NARROW,
    PLACE,
    TOKEN,
    VALUES,
    tile,
)
from parkade.engine.field.projections import Projections, end_seen, first_seen

Plan = NDArray[np.int64]

_EIGHT = (None,) * 8


@njit()
def plan_tile(field: Field, n: int, lo: int, k: int, hi: int, edges: Array, plan: Plan) -> None:
    """Set the bounds and edges of a tile: the keys that each of the tokens k ≤ i < hi sees."""
    for lane in range(LANES):
        i = min(k + lane, hi - 1)
        edges[FIRST, lane], edges[END, lane] = first_seen(field, i), end_seen(field, i, n)
        edges[PLACE, lane] = k + lane
    plan[TOKEN], plan[COLUMN] = k, k - lo
    first, left = first_seen(field, k), min(k, first_seen(field, hi - 1))
    end, last = end_seen(field, k, n), end_seen(field, hi - 1, n)
    # Whole steps: what is compared with the edges may be more than needed, up to the padding.
    middle, after = k - k % AT_ONCE, hi + -hi % AT_ONCE
    right = max(after, min(end, last) - min(end, last) % AT_ONCE)
    plan[BOUNDS], plan[BOUNDS + 1] = first - first % AT_ONCE, min(left + -left % AT_ONCE, middle)
    plan[BOUNDS + 2], plan[BOUNDS + 3], plan[BOUNDS + 4] = middle, after, right
    plan[BOUNDS + 5] = plan[BOUNDS + 6] = max(right, max(end, last) + -max(end, last) % AT_ONCE)


@njit()
def is_narrow(field: Field, projections: Projections, h: int) -> bool:
    """Whether a head has few enough components, and no factors, to be summed by tiles."""
    most = NARROW * field.slopes.size
    rows = max(projections.keys.shape[0], projections.values.shape[0])
    return rows <= most and bool(field.slopes[h] == 0.0) and field.followers.size == 0


@njit()
def narrow_means(
    field: Field, projections: Projections, h: int, edges: Array, plan: Plan, out: Array
) -> bool:
    """ν of a head for the tokens of a plan, by a tile; False if that does not apply."""
    if not is_narrow(field, projections, h):
        return False
    heads, reach = field.slopes.size, field.reach[h]
    m, r = projections.keys.shape[0] // heads, projections.values.shape[0] // heads
    plan[HEAD], plan[KEYS], plan[VALUES] = h, m, r
    if max(m, r) == 1:
        return bool(tile(projections, out, edges, plan, reach, (None,)))
    if max(m, r) == 2:
        return bool(tile(projections, out, edges, plan, reach, (None, None)))
    if max(m, r) == 3:
        return bool(tile(projections, out, edges, plan, reach, (None, None, None)))
    if max(m, r) == 4:
        return bool(tile(projections, out, edges, plan, reach, (None, None, None, None)))
    return bool(tile(projections, out, edges, plan, reach, _EIGHT))
