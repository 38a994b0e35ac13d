"""Velocities by attention sums in linear time, for Q and K multiples of I on the circle and on S².

The weights exp(β(⟨x_k, x_j⟩ − 1)) are a sum of products, of a function of x_k and one of x_j
(`fourier`, `legendre`). Sums over j are then the same for all k, or under the causal mask
running sums (`running`): n tokens cost O(n) and no memory.

A sum over M tokens made this way has an absolute error of some M·1e-16. That is negligible for a
token with others at its place. But a lone token, the *leader* of a cluster to be, may feel forces
of 1e-50 that decide on the fate of its cluster, and these must keep their relative precision. So
a token is summed directly if all others together weigh less than 1/64 of its own term,
Σ_{j≠k} w_kj < 1/64, or if the error estimate of its mean μ_k exceeds the accuracy asked for. Such
tokens are far apart from each other, so there is only room for a few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit
from parkade.engine.compile.simd import exp2
from parkade.engine.compile.threads import share_out
from parkade.engine.sums.basis import basis
from parkade.engine.sums.followers import Query, add_followers
from parkade.engine.sums.pairwise import project
from parkade.engine.sums.running import (
    CHUNK,
    FOLD,
    GROUP,
    Chunk,
    Running,
    TokenGroup,
    close_group,
    fold,
)
from parkade.engine.system import Dims, System
from parkade.engine.vectors import scalar, total

LONE = 1 / 64
"""A token is summed directly if the others have less than this weight, its own being 1."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Error of a sum per token in it; tests measure at most half of this."""


@njit(allocates=True)
def begin_sums(system: System, dims: Dims) -> Running:
    """Running sums to which no token has been added yet."""
    state = np.zeros((4, system.table.shape[1]))
    return Running(system.table, state, basis(dims).make_scratch(system.table))


@njit(allocates=True)
def begin_ledger(system: System, dims: Dims) -> Array:
    """A ledger that holds the frozen tokens."""
    ledger = np.zeros((8, system.table.shape[1]))
    if len(system.frozen_weights) > 0:
        running = begin_sums(system, dims)
        basis(dims).add_features(running, system.frozen, system.frozen_weights)
        fold(running.state, ledger)
        close_group(ledger)
    return ledger


class Keys(NamedTuple):
    """What a token is summed over directly, with scores `rate` ⟨x, x_j⟩ in base 2."""

    rate: float  # log2(e) β
    places: Array  # (d, count or more): the x_j, coordinate by coordinate
    masses: Array  # (count,); empty if all are 1


@njit(fastmath=SUMS)
def weigh(keys: Keys, x: Array, lo: int, hi: int, room: Array) -> None:
    """Set room[0] to the weights of the keys lo ≤ j < hi for a token at x, room[1:] to x_j − x.

    Weights are 2^(rate ⟨x, x_j − x⟩), times the masses of the keys if there are any.
    """
    rate, places, masses = keys
    count = hi - lo
    weights = room[0]
    for j in range(count):
        weights[j] = 0.0
    for c in range(x.size):
        key, gap, own = places[c], room[1 + c], x[c]
        for j in range(count):
            gap[j] = key[lo + j] - own
            weights[j] += own * gap[j]
    for j in range(count):
        weights[j] = exp2(rate * weights[j])
    if masses.size > 0:
        for j in range(count):
            weights[j] *= masses[lo + j]


@njit(fastmath=SUMS)
def dot(a: Array, b: Array, count: int) -> float:
    """Σ a_j b_j over the first `count`."""
    total = 0.0
    for j in range(count):
        total += a[j] * b[j]
    return total


@njit(fastmath=SUMS)
def _add_keys(keys: Keys, x: Array, lo: int, hi: int, room: Array, sums: Array) -> None:
    """Add Σ w and Σ w (x_j − x) over the keys lo ≤ j < hi to `sums`."""
    for start in range(lo, hi, room.shape[1]):
        stop = min(hi, start + room.shape[1])
        weigh(keys, x, start, stop, room)
        total = 0.0
        for j in range(stop - start):
            total += room[0, j]
        sums[0] += total
        for c in range(x.size):
            sums[1 + c] += dot(room[0], room[1 + c], stop - start)


@njit(allocates=True)
def make_room(d: int) -> Array:
    """A working array for `weigh`: a block of keys at a time, which stays in the L1 cache."""
    return np.empty((2 * d + 2, 256))


@njit()
def is_lone(other: float, mass: float, accuracy: float) -> bool:
    """Whether a token must be summed directly, by its harmonic Σ_{j≠k} w over `mass` tokens."""
    return not other >= LONE or ROUNDING * mass > accuracy * (1.0 + other)


class SumBuffers(NamedTuple):
    """Working arrays of `rows`."""

    keys: Keys
    fixed: Keys  # the frozen tokens
    weighed: Array  # for `weigh`
    far: Array  # (CHUNK, 2 + d): harmonic sums
    sums: Array  # (1 + d,): all sums of one token


@njit(allocates=True, apart=True)
def rows(
    system: System, dims: Dims, x: Array, transposed: Array, group: TokenGroup, out: Array
) -> None:
    """Velocities of a group of tokens; `transposed` is the transpose of x.

    Under the causal mask the ledger has the tokens before the group, and receives its sums.
    Otherwise it has those of all tokens.
    """
    d = len(dims)
    keys = Keys(system.query[0, 0], transposed, np.empty(0))
    fixed = Keys(keys.rate, np.ascontiguousarray(system.frozen.T), system.frozen_weights)
    buffers = SumBuffers(keys, fixed, make_room(d), np.empty((CHUNK, 2 + d)), np.empty(1 + d))
    _set_means(system, dims, x, group, begin_sums(system, dims), buffers, out)
    project(system, dims, x, group.lo, group.hi, out)


@njit()
def _set_means(
    system: System,
    dims: Dims,
    x: Array,
    group: TokenGroup,
    running: Running,
    buffers: SumBuffers,
    out: Array,
) -> None:
    """Set `out` to the means μ_k of a group of tokens."""
    n, d = x.shape[0], len(dims)
    lo, hi, ledger = group
    keys, fixed, weighed, far, sums = buffers
    frozen = total(system.frozen_weights)
    none = weighed[:0]
    radial = scalar(system.value) == 0.0  # otherwise what is radial is projected away
    empty = system.causal and lo == 0 and len(system.frozen_weights) == 0
    own = 0.0 if system.causal else 1.0
    near = system.causal and basis(dims).LEAVES_NEAR
    for k0 in range(lo, hi, CHUNK):
        k1 = min(hi, k0 + CHUNK)
        if (k0 == lo and not empty) or (system.causal and k0 > lo and (k0 - lo) % FOLD == 0):
            fold(running.state, ledger)
        based = not empty or k0 - lo >= FOLD
        basis(dims).far_sums(running, Chunk(x, k0, k1), far, radial, system.causal, based)
        for k in range(k0, k1):
            sums[0] = far[k - k0, 0] - own
            for c in range(d):
                sums[1 + c] = far[k - k0, 2 + c] + far[k - k0, 1] * x[k, c]
            if near and k0 < k:
                _add_keys(keys, x[k], k0, k, weighed, sums)
            query = Query(x[k], x[k], keys.rate, 0.0)
            add_followers(system, query, keys.places, k, sums, none)
            if is_lone(sums[0], frozen + (k if system.causal else n), system.accuracy):
                for c in range(1 + d):
                    sums[c] = 0.0
                _add_keys(keys, x[k], 0, k, weighed, sums)
                add_followers(system, query, keys.places, k, sums, none)
                if not system.causal:
                    _add_keys(keys, x[k], k + 1, n, weighed, sums)
                m = len(system.frozen_weights)
                if m > 0:
                    _add_keys(fixed, x[k], 0, m, weighed, sums)
            for c in range(d):
                out[k, c] = sums[1 + c] / (1.0 + sums[0])
    if system.causal and hi < n:
        fold(running.state, ledger)


@njit(allocates=True, apart=True)
def group_sums(system: System, dims: Dims, x: Array, group: TokenGroup) -> None:
    """Enter the sums of a group of tokens in its ledger."""
    running, mass = begin_sums(system, dims), np.ones(FOLD)
    for k0 in range(group.lo, group.hi, FOLD):
        chunk = x[k0 : min(group.hi, k0 + FOLD)]
        basis(dims).add_features(running, chunk, mass)
        fold(running.state, group.ledger)


def groups(system: System, dims: Dims, x: Array, threads: int | None = None) -> list[TokenGroup]:
    """The groups of the tokens, each with a ledger as `rows` needs it."""
    n = len(x)
    parts = [
        TokenGroup(lo, min(n, lo + GROUP), np.zeros((8, system.table.shape[1])))
        for lo in range(0, n, GROUP)
    ]
    if len(parts) > 1 or not system.causal:
        share_out(((group_sums, system, dims, x, part) for part in parts), threads)
    ledger = begin_ledger(system, dims)
    before = []
    for part in parts:
        before.append(part._replace(ledger=ledger.copy()))
        ledger[4:] = part.ledger[4:]
        close_group(ledger)
    if not system.causal:
        before = [part._replace(ledger=ledger.copy()) for part in parts]
    return before
