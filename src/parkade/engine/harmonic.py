"""Attention sums in linear time, for Q and K multiples of I on the circle and on S².

The weights exp(β(⟨x_k, x_j⟩ − 1)) are a sum of products, of a function of x_k and one of x_j
(`fourier`, `legendre`). Sums over j are then the same for all k, or under the causal mask
running sums: n tokens cost O(n) and no memory.

A sum over M tokens made this way has an absolute error of some M·1e-16. That is nothing to a
token with others at its place. But a lone token, the *leader* of a cluster to be, may feel
forces of 1e-50 that decide on the fate of its cluster, and these must keep their relative
precision. Hence a token is summed directly if all others together weigh less than 1/64 of its own
term, Σ_{j≠k} w_kj < 1/64, or if the error estimate of its mean μ_k exceeds the accuracy asked for.
Such tokens are far apart from each other, so that there is only room for a few.

Running sums are kept in two parts, and errors of the large part are carried along: tokens are
added to `local` sums, which every FOLD tokens are folded into the `base`. Groups of GROUP
tokens are accounted for one by one, so that they can be shared out to several threads with the
same result, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from parkade.base.types import Array
from parkade.engine.features import (
    CHUNK,
    add_features,
    far_sums,
    leaves_near,
    make_scratch,
)
from parkade.engine.jit import njit
from parkade.engine.pairwise import project, velocity_rows
from parkade.engine.simd import exp2
from parkade.engine.system import System
from parkade.engine.tangent import SUMS
from parkade.engine.threads import share_out
from parkade.engine.vectors import scalar

FOLD = 256
GROUP = 16384

LONE = 1 / 64
"""A token is summed directly if the others have less than this weight, its own being 1."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Error of a sum per token in it; tests measure at most half of this."""


@njit(cache=True, nogil=True)
def fold(state: Array, ledger: Array) -> None:
    """Move the local sums to those of the group, and set the base to all so far.

    A state is a table of base and local sums, each with a real and an imaginary row. A ledger
    has the sums before the group, what rounding took from them, and both for the group.
    """
    for part in range(2):
        base, local = state[part], state[2 + part]
        before, lost_before = ledger[part], ledger[2 + part]
        group, lost = ledger[4 + part], ledger[6 + part]
        for i in range(base.size):
            group[i], error = _two_sum(group[i], local[i])
            lost[i] += error
            local[i] = 0.0
            base[i] = before[i] + (group[i] + (lost[i] + lost_before[i]))


@njit(cache=True, nogil=True)
def close_group(ledger: Array) -> None:
    """Count the group among what was before, and begin a new one."""
    for part in range(2):
        before, lost_before = ledger[part], ledger[2 + part]
        group, lost = ledger[4 + part], ledger[6 + part]
        for i in range(before.size):
            before[i], error = _two_sum(before[i], group[i])
            lost_before[i] += error + lost[i]
            group[i] = 0.0
            lost[i] = 0.0


@njit(cache=True, nogil=True)
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """The rounded sum, and what rounding took from it (D. E. Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(cache=True, nogil=True)
def begin(system: System, dims: tuple[int, ...]) -> Array:
    """A ledger that holds the frozen tokens."""
    size, m = system.table.shape[1], len(system.weights)
    ledger = np.zeros((8, size))
    if m > 0:
        state, scratch = np.zeros((4, size)), make_scratch(dims, system.table)
        add_features(dims, system.table, system.frozen, system.weights, 0, m, scratch, state)
        fold(state, ledger)
        close_group(ledger)
    return ledger


@njit(cache=True, nogil=True, fastmath=SUMS)
def weigh(rate: float, keys: Array, masses: Array, x: Array, lo: int, hi: int, room: Array) -> None:
    """Set room[0] to the weights of the keys lo ≤ j < hi for a token at x, room[1:] to x_j − x.

    Weights are 2^(rate ⟨x, x_j − x⟩), times the masses of the keys if there are any.
    """
    count = hi - lo
    weights = room[0]
    for j in range(count):
        weights[j] = 0.0
    for c in range(x.size):
        key, gap, own = keys[c], room[1 + c], x[c]
        for j in range(count):
            gap[j] = key[lo + j] - own
            weights[j] += own * gap[j]
    for j in range(count):
        weights[j] = exp2(rate * weights[j])
    if masses.size > 0:
        for j in range(count):
            weights[j] *= masses[lo + j]


@njit(cache=True, nogil=True, fastmath=SUMS)
def dot(a: Array, b: Array, count: int) -> float:
    """Σ a_j b_j over the first `count`."""
    total = 0.0
    for j in range(count):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_keys(
    rate: float, keys: Array, masses: Array, x: Array, lo: int, hi: int, room: Array, sums: Array
) -> None:
    """Add Σ w and Σ w (x_j − x) over the keys lo ≤ j < hi to `sums`."""
    for start in range(lo, hi, room.shape[1]):
        stop = min(hi, start + room.shape[1])
        weigh(rate, keys, masses, x, start, stop, room)
        total = 0.0
        for j in range(stop - start):
            total += room[0, j]
        sums[0] += total
        for c in range(x.size):
            sums[1 + c] += dot(room[0], room[1 + c], stop - start)


@njit(cache=True, nogil=True)
def make_room(d: int) -> Array:
    """Room for `weigh`: a block of keys at a time, that stays in the L1 cache."""
    return np.empty((2 * d + 2, 256))


@njit(cache=True, nogil=True)
def is_lone(other: float, mass: float, accuracy: float) -> bool:
    """Whether a token must be summed directly, given its harmonic Σ_{j≠k} w over `mass` tokens."""
    return not other >= LONE or ROUNDING * mass > accuracy * (1.0 + other)


@njit(cache=True, nogil=True)
def rows(
    system: System,
    dims: tuple[int, ...],
    x: Array,
    keys: Array,
    lo: int,
    hi: int,
    ledger: Array,
    out: Array,
) -> None:
    """Velocities of the tokens lo ≤ k < hi; `keys` is the transpose of x.

    Under the causal mask they are a group, and the ledger, which has the tokens before them,
    receives their sums. Else it has those of all tokens.
    """
    n, d = x.shape[0], len(dims)
    state = np.zeros((4, system.table.shape[1]))
    scratch, room, far = make_scratch(dims, system.table), make_room(d), np.empty((CHUNK, 2 + d))
    sums, nothing = np.empty(1 + d), np.empty(0)
    fixed = np.ascontiguousarray(system.frozen.T)
    frozen = system.weights.sum()
    radial = scalar(system.V) == 0.0  # else what is radial is projected away
    empty = system.causal and lo == 0 and len(system.weights) == 0
    own, rate = 0.0 if system.causal else 1.0, system.A[0, 0]
    near = system.causal and leaves_near(dims)
    for k0 in range(lo, hi, CHUNK):
        k1 = min(hi, k0 + CHUNK)
        if (k0 == lo and not empty) or (system.causal and k0 > lo and (k0 - lo) % FOLD == 0):
            fold(state, ledger)
        based = not empty or k0 - lo >= FOLD
        far_sums(dims, system.table, x, k0, k1, scratch, state, far, radial, system.causal, based)
        for k in range(k0, k1):
            sums[0] = far[k - k0, 0] - own
            for c in range(d):
                sums[1 + c] = far[k - k0, 2 + c] + far[k - k0, 1] * x[k, c]
            if near and k0 < k:
                _add_keys(rate, keys, nothing, x[k], k0, k, room, sums)
            if is_lone(sums[0], frozen + (k if system.causal else n), system.accuracy):
                for c in range(1 + d):
                    sums[c] = 0.0
                _add_keys(rate, keys, nothing, x[k], 0, k, room, sums)
                if not system.causal:
                    _add_keys(rate, keys, nothing, x[k], k + 1, n, room, sums)
                m = len(system.weights)
                if m > 0:
                    _add_keys(rate, fixed, system.weights, x[k], 0, m, room, sums)
            for c in range(d):
                out[k, c] = sums[1 + c] / (1.0 + sums[0])
    project(system, dims, x, lo, hi, out)
    if system.causal and hi < n:
        fold(state, ledger)


@njit(cache=True, nogil=True)
def group_sums(
    system: System, dims: tuple[int, ...], x: Array, lo: int, hi: int, ledger: Array
) -> None:
    """Enter a group of tokens in the ledger."""
    scratch = make_scratch(dims, system.table)
    state, mass = np.zeros((4, system.table.shape[1])), np.ones(x.shape[0])
    for k0 in range(lo, hi, FOLD):
        add_features(dims, system.table, x, mass, k0, min(hi, k0 + FOLD), scratch, state)
        fold(state, ledger)


@njit(cache=True, nogil=True)
def whole(system: System, dims: tuple[int, ...], x: Array, out: Array) -> None:
    """Velocities of all tokens, on the calling thread."""
    n = x.shape[0]
    keys = np.ascontiguousarray(x.T)
    ledger = begin(system, dims)
    for lo in range(0, n, GROUP):
        if system.causal:
            rows(system, dims, x, keys, lo, min(n, lo + GROUP), ledger, out)
        else:
            group_sums(system, dims, x, lo, min(n, lo + GROUP), ledger)
        close_group(ledger)
    if not system.causal:
        rows(system, dims, x, keys, 0, n, ledger, out)


def shared(
    system: System, dims: tuple[int, ...], x: Array, out: Array, threads: int | None = None
) -> None:
    """Velocities of all tokens, on all cores or `threads` threads, with the bits of `whole`."""
    keys = np.ascontiguousarray(x.T)
    share_out(
        (
            (rows, system, dims, x, keys, *group, ledger, out)
            for group, ledger in groups(system, dims, x, threads)
        ),
        threads,
    )


def groups(
    system: System, dims: tuple[int, ...], x: Array, threads: int | None = None
) -> list[tuple[tuple[int, int], Array]]:
    """The groups of the tokens, and for each a ledger as `rows` wants it."""
    n = len(x)
    spans = [(lo, min(n, lo + GROUP)) for lo in range(0, n, GROUP)]
    parts = [np.zeros((8, system.table.shape[1])) for _ in spans]
    if len(spans) > 1 or not system.causal:
        calls = zip(spans, parts, strict=True)
        share_out(((group_sums, system, dims, x, *span, part) for span, part in calls), threads)
    ledger = begin(system, dims)
    before = []
    for part in parts:
        before.append(ledger.copy())
        ledger[4:] = part[4:]
        close_group(ledger)
    if not system.causal:
        before = [ledger.copy() for _ in spans]
    return list(zip(spans, before, strict=True))


def error(system: System, dims: tuple[int, ...], x: Array, tokens: Iterable[int]) -> float:
    """The largest difference between harmonic and direct velocities of some tokens."""
    fast, exact = np.empty_like(x), np.empty_like(x)
    whole(system, dims, x, fast)
    worst = 0.0
    for k in tokens:
        velocity_rows(system, dims, x, k, k + 1, exact)
        gap = float(np.abs(fast[k] - exact[k]).max())
        if not gap <= worst:  # not max(): a NaN must not vanish
            worst = gap
    return worst
