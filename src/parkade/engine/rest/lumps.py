"""How far resting tokens are from their leaders, by sums over a few lumps of tokens.

Late in a run nearly all tokens are in a few places. Scores differ within a small lump by a few
percent, and so do weights and rates. That is enough to say how far a token is from its leader,
which has to be known to some ten percent only. What decides between two tokens of a lump is exact:
the pull of other lumps, and the mean of their own one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.jacobian.tangent import axis, matrix_to_tangent
from parkade.engine.rest.leaders import return_rate
from parkade.engine.sums import lumped
from parkade.engine.sums.lumped import LumpSums
from parkade.engine.system import LOG2E, System
from parkade.engine.vectors import frobenius, scalar

MOST = 512
"""The most lumps; with more of them, no distance is known."""

_SPREAD, _WIDEST = 0.02, 0.5  # how much scores differ within a lump: at most, and if there are many
_WORK = 1e7  # the most tokens times lumps
# A rate is computed again once the sum of weights has grown by a factor, or once second moments,
# in units of the rate, have grown by so much.
_HEAVIER, _WIDER = 1.004, 0.005


class Tokens(NamedTuple):
    """Where n tokens are: at m places."""

    moving: NDArray[np.int64]  # (m,): the token that moves at each place, the first one there
    rows: NDArray[np.int64]  # (n,): the place of each token
    leader: NDArray[np.int64]  # (n,): the token from which the distance counts; or the token itself


class _Rates(NamedTuple):
    """The rates at which tokens of lumps return, and the sums when they were computed."""

    sharpness: float  # the norm of βKᵀQ
    values: Array  # (G,)
    totals: Array  # (G,): sums of weights; NaN if there is no rate yet
    spreads: Array  # (G,): see `lumped.spread`


@njit(allocates=True)
def set_lags(
    system: System,
    x: Array,
    tokens: Tokens,
    sharpness: float,
    lag: Array,
) -> bool:
    """Set how far each of n tokens is from its leader, or would be; see `leaders.set_lags`.

    `sharpness` is the norm of βKᵀQ. Returns False if there are too many lumps to know.
    """
    n, (m, d) = tokens.rows.size, x.shape
    of, first = np.empty(m, dtype=np.int64), np.empty(MOST, dtype=np.int64)
    most, count, spread = min(MOST, max(32, int(_WORK / n))), 0, _SPREAD
    while count == 0 and spread < _WIDEST:
        count = lumped.find_lumps(x, min(0.1, spread / sharpness), most, of, first)
        spread *= 2.0
    if count == 0:
        return False
    sums = lumped.begin(system, x, first, _number_lumps(tokens, of, count))
    size = sums.own.size
    rates = _Rates(sharpness, np.empty(size), np.full(size, np.nan), np.empty(size))
    room = _Room(
        system.query / LOG2E,
        np.empty((m, d)),
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
    _pass(system, x, tokens, of, sums, rates, room, lag)
    return True


class _Room(NamedTuple):
    """Working arrays of a pass."""

    beta_query: Array  # (d, d)
    velocity: Array  # (m, d): of the tokens that move
    mean: Array  # (d,) and so on
    query: Array
    force: Array
    w: Array
    left: Array
    moment: Array  # (d, d)
    product: Array
    matrix: Array
    block: Array  # (d - 1, d - 1)


@njit(allocates=True)
def _number_lumps(tokens: Tokens, of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Number the lumps in which a token has a leader or is one; others get -1."""
    number, some = np.full(count, -1), 0
    for k in range(tokens.rows.size):
        u = tokens.leader[k]
        if u != k:
            number[of[tokens.rows[k]]] = number[of[tokens.rows[u]]] = 0
    for g in range(count):
        if number[g] == 0:
            number[g] = some
            some += 1
    return number


# The error model of NumPy: a token that does not return is infinitely far.
@njit(error_model="numpy")
def _pass(
    system: System,
    x: Array,
    tokens: Tokens,
    of: NDArray[np.int64],
    sums: LumpSums,
    rates: _Rates,
    room: _Room,
    lag: Array,
) -> None:
    """Set the lags of all tokens, one after the other."""
    rows = tokens.rows
    for k in range(rows.size):
        row, u = rows[k], tokens.leader[k]
        i, here = sums.number[of[row]], x[row]
        lag[k] = 0.0
        if i >= 0 and (u != k or tokens.moving[row] == k):
            lumped.set_mean(sums, i, here, room.mean)
            _set_force(system, here, room)
            if tokens.moving[row] == k:
                for c in range(here.size):
                    room.velocity[row, c] = room.force[c]
            if u != k:
                gap, apart = 0.0, 0.0
                for c in range(here.size):
                    gap += (here[c] - x[rows[u], c]) ** 2
                    apart += (room.force[c] - room.velocity[rows[u], c]) ** 2
                rate = _rate(system, here, sums, i, rates, room)
                lag[k] = np.sqrt(gap) + np.sqrt(apart) / rate if rate > 0.0 else np.inf
        lumped.add(sums, sums.weights[of[row]], here)


@njit(error_model="numpy")
def _rate(system: System, here: Array, sums: LumpSums, i: int, rates: _Rates, room: _Room) -> float:
    """The rate at which a token in lump number i returns; 0 if it does not."""
    d, total, spread = here.size, sums.totals[0, i], lumped.spread(sums, i)
    wider = rates.sharpness * (spread - rates.spreads[i]) > _WIDER * total
    if wider or not total <= _HEAVIER * rates.totals[i]:
        share = lumped.set_moment(sums, i, here, room.mean, room.moment)
        _set_block(system, here, share, room)
        scale = frobenius(system.value) / np.sqrt(d)
        rates.values[i] = return_rate(room.block, d - 1, scale)
        rates.totals[i], rates.spreads[i] = total, spread
    return float(rates.values[i])


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
def _set_block(system: System, here: Array, share: float, room: _Room) -> None:
    """Set the block of the Jacobian, as `linearization` does for all tokens."""
    d, radial = here.size, 0.0
    for c in range(d):
        room.query[c] = 0.0
        for e in range(d):
            room.query[c] += room.beta_query[c, e] * here[e]
    _times(room.moment, room.beta_query, room.product)
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
