"""Sums over tokens that rest on earlier ones, which are counted instead of summed; see `rest`.

The weight of a key x_j for token k is 2^(rate ⟨vector, x_j − x_k⟩ − shift), once for each of the
followers of token j that k attends to. Keys are (d, n) arrays, as stages in a pipeline need them:
a stage has no other array with all tokens.
"""

from __future__ import annotations

from typing import NamedTuple

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import exp2
from parkade.engine.system import LOG2E, System


class Query(NamedTuple):
    """What the weights of a token are made of."""

    vector: Array  # (d,)
    x: Array  # (d,): its token
    rate: float
    shift: float


@njit()
def _weight(system: System, query: Query, keys: Array, k: int, i: int) -> float:
    """The weight of all followers of leader number i for token k."""
    j, score = system.leaders[i], 0.0
    for c in range(query.x.size):
        score += query.vector[c] * (keys[c, j] - query.x[c])
    return float(system.followers[i, k] * exp2(query.rate * score - query.shift))


@njit()
def add_followers(
    system: System, query: Query, keys: Array, k: int, sums: Array, second: Array
) -> None:
    """Add Σ w and Σ w δ to `sums`, with δ = x_j − x_k, and Σ w δ δᵀ to `second`, if not empty."""
    d = query.x.size
    for i in range(system.leaders.size):
        j = system.leaders[i]
        if j >= k:
            break
        weight = _weight(system, query, keys, k, i)
        sums[0] += weight
        for c in range(d):
            gap = weight * (keys[c, j] - query.x[c])
            sums[1 + c] += gap
            if second.size > 0:
                for e in range(d):
                    second[c, e] += gap * (keys[e, j] - query.x[e])


@njit()
def add_changed_followers(
    system: System, query: Query, keys: Array, u: Array, k: int, sums: Array
) -> None:
    """Add Σ w b and Σ w [u_j + (x_j − x_k) b] to `sums`, where b = ⟨a, u_j⟩ with the query a."""
    d = query.x.size
    for i in range(system.leaders.size):
        j = system.leaders[i]
        if j >= k:
            break
        weight, along = _weight(system, query, keys, k, i), 0.0
        for c in range(d):
            along += query.vector[c] * u[c, j]
        along *= weight * query.rate / LOG2E
        sums[0] += along
        for c in range(d):
            sums[1 + c] += weight * u[c, j] + along * (keys[c, j] - query.x[c])
