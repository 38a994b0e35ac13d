"""How far resting tokens are from their leaders, by sums over a few lumps of tokens.

Late in a run nearly all tokens are in a few places. Tokens within a small radius form a lump: its
count c_j of tokens before token k, and the sum D_j of their differences from the place z_j of its
first one. With the weight E_gj of lump j for a token in lump g, relative to its own,

    Z_k = 1·E_gg + Σ_j c_j E_gj,    Z_k μ_k = Σ_j E_gj [D_j + c_j (z_j − x_k)],

and so on for second moments: a pass over n tokens and L lumps takes n·L operations instead of
n²/2. Scores differ within a lump by a few percent, and so do weights. That is enough to say how
far a token is from its leader, which has to be known to some ten percent only. What decides
between two tokens of a lump is exact: the pull of other lumps, and the mean of their own one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import exp2
from parkade.engine.jacobian.tangent import axis, matrix_to_tangent
from parkade.engine.steps.rest import return_rate
from parkade.engine.system import LOG2E, System
from parkade.engine.vectors import frobenius, scalar

MOST = 512
"""The most lumps; with more of them, no distance is known."""

_SPREAD, _WIDEST = 0.02, 0.5  # how much scores differ within a lump: at most, and if there are many
_WORK = 1e7  # the most tokens times lumps
_NOTHING = 1e-18  # a weight that moves no token by a share of tol that counts, relative to its own


class Tokens(NamedTuple):
    """Where n tokens are: at m places."""

    moving: NDArray[np.int64]  # (m,): the token that moves at each place, the first one there
    rows: NDArray[np.int64]  # (n,): the place of each token
    leader: NDArray[np.int64]  # (n,): the token from which the distance counts; or the token itself


class Lumps(NamedTuple):
    """Lumps of tokens, and the sums over the tokens before the present one."""

    of: NDArray[np.int64]  # (m,): the lump of each place
    first: NDArray[np.int64]  # (MOST,): the place of each lump
    total: int
    weights: Array  # (L, L): of a token of lump j for one in lump g
    fixed: Array  # (L, 1 + d + d²): sums over frozen tokens, with differences from the lump
    tokens: Array  # (L,): the number of tokens so far
    offsets: Array  # (L, d): the sum of their differences from the lump


@njit(allocates=True)
def set_lags(
    system: System,
    x: Array,
    tokens: Tokens,
    sharpness: float,
    lag: Array,
) -> bool:
    """Set how far each of n tokens is from its leader, or would be; see `rest.set_lags`.

    `sharpness` is the norm of βKᵀQ. Returns False if there are too many lumps to know.
    """
    n, (m, d) = tokens.rows.size, x.shape
    beta_query = system.query / LOG2E
    of, first = np.empty(m, dtype=np.int64), np.empty(MOST, dtype=np.int64)
    most, count, spread = min(MOST, max(32, int(_WORK / n))), 0, _SPREAD
    while count == 0 and spread < _WIDEST:
        count = _find_lumps(x, min(0.1, spread / sharpness), most, of, first)
        spread *= 2.0
    if count == 0:
        return False
    lumps = Lumps(
        of,
        first,
        count,
        np.empty((count, count)),
        np.zeros((count, 1 + d + d * d)),
        np.zeros(count),
        np.zeros((count, d)),
    )
    _set_weights(system, x, lumps)
    room = _Room(
        np.empty((m, d)),
        np.empty(d),
        np.empty(d),
        np.empty(d),
        np.empty(d),
        np.empty(d),
        np.empty(d),
        np.empty((d, d)),
        np.empty((d, d)),
        np.empty((d, d)),
        np.empty((d - 1, d - 1)),
    )
    _pass(system, beta_query, x, tokens, lumps, room, lag)
    return True


class _Room(NamedTuple):
    """Working arrays of a pass."""

    velocity: Array  # (m, d): of the tokens that move
    mean: Array  # (d,) and so on
    query: Array
    gap: Array
    force: Array
    w: Array
    left: Array
    moment: Array  # (d, d)
    product: Array
    matrix: Array
    block: Array  # (d - 1, d - 1)


@njit()
def _find_lumps(
    x: Array, radius: float, most: int, of: NDArray[np.int64], first: NDArray[np.int64]
) -> int:
    """Share places out to lumps; returns the number of lumps, or 0 if it exceeds `most`."""
    count = 0
    for k in range(x.shape[0]):
        of[k] = -1
        for g in range(count):
            square = 0.0
            for c in range(x.shape[1]):
                square += (x[k, c] - x[first[g], c]) ** 2
            if square <= radius * radius:
                of[k] = g
                break
        if of[k] < 0:
            if count == most:
                return 0
            first[count], of[k] = k, count
            count += 1
    return count


@njit(allocates=True)
def _set_weights(system: System, x: Array, lumps: Lumps) -> None:
    """Set the weights between lumps, and the sums over frozen tokens."""
    d, frozen = x.shape[1], system.frozen_weights.size
    query, held = np.empty(d), np.empty(frozen)
    for g in range(lumps.total):
        here, shift = x[lumps.first[g]], 0.0
        for c in range(d):
            query[c] = 0.0
            for e in range(d):
                query[c] += system.query[c, e] * here[e]
        for j in range(lumps.total):
            score = 0.0
            for c in range(d):
                score += query[c] * (x[lumps.first[j], c] - here[c])
            lumps.weights[g, j] = score
            shift = max(shift, score)
        for j in range(frozen):
            held[j] = 0.0
            for c in range(d):
                held[j] += query[c] * (system.frozen[j, c] - here[c])
            shift = max(shift, held[j])
        for j in range(lumps.total):
            lumps.weights[g, j] = exp2(lumps.weights[g, j] - shift)
        sums = lumps.fixed[g]
        for j in range(frozen):
            weight = system.frozen_weights[j] * exp2(held[j] - shift)
            sums[0] += weight
            for c in range(d):
                gap = weight * (system.frozen[j, c] - here[c])
                sums[1 + c] += gap
                for e in range(d):
                    sums[1 + d + c * d + e] += gap * (system.frozen[j, e] - here[e])


# The error model of NumPy: a token that does not return is infinitely far.
@njit(error_model="numpy")
def _pass(
    system: System,
    beta_query: Array,
    x: Array,
    tokens: Tokens,
    lumps: Lumps,
    room: _Room,
    lag: Array,
) -> None:
    """Set the lags of all tokens, one after the other."""
    d, rows = x.shape[1], tokens.rows
    scale = frobenius(system.value) / np.sqrt(d)
    for k in range(rows.size):
        row, u = rows[k], tokens.leader[k]
        g, here = lumps.of[row], x[row]
        share = _set_means(lumps, x, g, here, u != k, room)
        _set_force(system, here, room)
        lag[k] = 0.0
        if tokens.moving[row] == k:
            for c in range(d):
                room.velocity[row, c] = room.force[c]
        if u != k:
            gap, apart = 0.0, 0.0
            for c in range(d):
                gap += (here[c] - x[rows[u], c]) ** 2
                apart += (room.force[c] - room.velocity[rows[u], c]) ** 2
            _set_block(system, beta_query, here, share, room)
            rate = return_rate(room.block, d - 1, scale)
            lag[k] = np.sqrt(gap) + np.sqrt(apart) / rate if rate > 0.0 else np.inf
        lumps.tokens[g] += 1.0
        for c in range(d):
            lumps.offsets[g, c] += here[c] - x[lumps.first[g], c]


@njit(error_model="numpy")
def _set_means(lumps: Lumps, x: Array, g: int, here: Array, moments: bool, room: _Room) -> float:
    """Set μ of a token in lump g, and M − μμᵀ if it is wanted; returns p_kk."""
    d, own = here.size, lumps.weights[g, g]
    mean, gap, moment, fixed = room.mean, room.gap, room.moment, lumps.fixed[g]
    total = fixed[0]
    for c in range(d):
        mean[c] = fixed[1 + c]
        for e in range(d):
            moment[c, e] = fixed[1 + d + c * d + e]
    for j in range(lumps.total):
        weight = lumps.weights[g, j] * lumps.tokens[j]
        if weight <= _NOTHING * own:
            continue
        total += weight
        for c in range(d):
            gap[c] = x[lumps.first[j], c] - here[c]
            mean[c] += lumps.weights[g, j] * lumps.offsets[j, c] + weight * gap[c]
        for c in range(d if moments else 0):
            for e in range(d):
                moment[c, e] += weight * gap[c] * gap[e]
    inverse = 1.0 / (own + total)
    for c in range(d):
        mean[c] *= inverse
    for c in range(d):
        for e in range(d):
            moment[c, e] = moment[c, e] * inverse - mean[c] * mean[e]
    return float(own * inverse)


@njit()
def _set_force(system: System, here: Array, room: _Room) -> None:
    """Set the force P(Vμ + Bx)."""
    d, radial = here.size, 0.0
    for c in range(d):
        total = 0.0
        for e in range(d):
            total += system.value[c, e] * room.mean[e] + system.own_value[c, e] * here[e]
        room.force[c] = total
        radial += total * here[c]
    for c in range(d):
        room.force[c] -= radial * here[c]


@njit()
def _set_block(system: System, beta_query: Array, here: Array, share: float, room: _Room) -> None:
    """Set the block of the Jacobian, as `linearization` does for all tokens."""
    d, radial = here.size, 0.0
    for c in range(d):
        room.query[c] = 0.0
        for e in range(d):
            room.query[c] += beta_query[c, e] * here[e]
    _times(room.moment, beta_query, room.product)
    for c in range(d):
        for e in range(d):
            room.product[c, e] -= share * room.mean[c] * room.query[e]
        room.product[c, c] -= 1.0 - share
    _times(system.value, room.product, room.matrix)
    for c in range(d):
        total = 0.0
        for e in range(d):
            room.matrix[c, e] += system.own_value[c, e]
            total += system.value[c, e] * room.mean[e] + system.own_value[c, e] * here[e]
        radial += total * here[c]
    matrix_to_tangent(here, axis(here), room.matrix, room.w, room.left, room.block)
    for i in range(d - 1):
        room.block[i, i] -= radial


@njit()
def _times(left: Array, right: Array, out: Array) -> None:
    """Set `out` to a product of matrices, one of which is often a multiple of I."""
    d, factor, other = left.shape[0], scalar(left), scalar(right)
    for c in range(d):
        for e in range(d):
            if factor != 0.0:
                out[c, e] = factor * right[c, e]
            elif other != 0.0:
                out[c, e] = left[c, e] * other
            else:
                out[c, e] = 0.0
                for i in range(d):
                    out[c, e] += left[c, i] * right[i, e]
