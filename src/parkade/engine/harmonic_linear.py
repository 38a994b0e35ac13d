"""The flow linearised, and linear systems in its Jacobian, by harmonic sums in linear time.

If token j moves by u_j, a sum over j of a function of x_j changes by the sum of its derivatives
along the u_j: the same harmonic sums, with the changes of the features in the place of the
features. A forward substitution (see `solve`) keeps running sums of the changes of the tokens
solved for so far. The blocks J_kk need second moments, which are one more series each.

Tokens that `harmonic` sums directly are summed directly here as well: lone tokens keep the
relative precision of their forces, of their blocks and of what they feel from others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.features import (
    CHUNK,
    far_changes,
    far_second,
    leaves_near,
    make_scratch,
)
from parkade.engine.harmonic import (
    FOLD,
    GROUP,
    begin,
    close_group,
    dot,
    fold,
    groups,
    is_lone,
    make_room,
    weigh,
)
from parkade.engine.jit import njit
from parkade.engine.linear import Linearization, set_blocks, set_keys
from parkade.engine.simd import LOG2E
from parkade.engine.solve import finish, finish_room
from parkade.engine.system import System
from parkade.engine.tangent import SUMS
from parkade.engine.threads import share_out
from parkade.engine.vectors import scalar


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_second(
    rate: float,
    keys: Array,
    masses: Array,
    x: Array,
    lo: int,
    hi: int,
    room: Array,
    sums: Array,
    second: Array,
) -> None:
    """Add Σ w and Σ w δ to `sums`, Σ w δ δᵀ to `second`, over the keys lo ≤ j < hi, δ = x_j − x."""
    d = x.size
    for start in range(lo, hi, room.shape[1]):
        count = min(hi, start + room.shape[1]) - start
        weigh(rate, keys, masses, x, start, start + count, room)
        total = 0.0
        for j in range(count):
            total += room[0, j]
        sums[0] += total
        for c in range(d):
            weighted = room[1 + d]
            for j in range(count):
                weighted[j] = room[0, j] * room[1 + c, j]
            total = 0.0
            for j in range(count):
                total += weighted[j]
            sums[1 + c] += total
            for e in range(d):
                second[c, e] += dot(weighted, room[1 + e], count)


@njit(cache=True, nogil=True)
def _linearize_rows(
    system: System,
    dims: tuple[int, ...],
    beta_a: Array,
    x: Array,
    lin: Linearization,
    lo: int,
    hi: int,
    ledger: Array,
) -> None:
    """What `linearize` does before `set_blocks`, for a group of tokens; see `harmonic.rows`."""
    d = len(dims)
    state = np.zeros((4, system.table.shape[1]))
    scratch, room = make_scratch(dims, system.table), make_room(d)
    far, far_moment = np.empty((CHUNK, 2 + d)), np.empty((CHUNK, d, d))
    sums, second, nothing = np.empty(1 + d), np.empty((d, d)), np.empty(0)
    fixed = np.ascontiguousarray(system.frozen.T)
    frozen = system.weights.sum()
    near, rate = leaves_near(dims), system.A[0, 0]
    for k0 in range(lo, hi, CHUNK):
        k1 = min(hi, k0 + CHUNK)
        if k0 % FOLD == 0:
            fold(state, ledger)
        far_second(dims, system.table, x, k0, k1, scratch, state, far, far_moment)
        for k in range(k0, k1):
            i = k - k0
            sums[0] = far[i, 0]
            for c in range(d):
                sums[1 + c] = far[i, 2 + c] + far[i, 1] * x[k, c]
                for e in range(d):
                    second[c, e] = far_moment[i, c, e]
            if near and k0 < k:
                _add_second(rate, lin.keys, nothing, x[k], k0, k, room, sums, second)
            lin.lone[k] = is_lone(sums[0], frozen + k, system.accuracy)
            if lin.lone[k]:
                for c in range(1 + d):
                    sums[c] = 0.0
                for c in range(d):
                    for e in range(d):
                        second[c, e] = 0.0
                _add_second(rate, lin.keys, nothing, x[k], 0, k, room, sums, second)
                m = len(system.weights)
                if m > 0:
                    _add_second(rate, fixed, system.weights, x[k], 0, m, room, sums, second)
            z = 1.0 / (1.0 + sums[0])
            lin.shares[0, k], lin.shares[1, k] = z, z * sums[0]
            for c in range(d):
                lin.mean[k, c] = z * sums[1 + c]
                lin.pull[k, c] = beta_a[0, 0] * x[k, c]
            # Blocks only act on tangent vectors: what the far part lacks does not matter.
            for c in range(d):
                for e in range(d):
                    moment = z * second[c, e] - lin.mean[k, c] * lin.mean[k, e]
                    lin.moments[c, k, e] = moment
    if hi < x.shape[0]:
        fold(state, ledger)


@njit(cache=True, nogil=True)
def linearize(
    system: System, dims: tuple[int, ...], beta_a: Array, x: Array, lin: Linearization
) -> None:
    """Fill `lin` at the tokens `x`, under the causal mask; `beta_a` is βKᵀQ."""
    n = x.shape[0]
    set_keys(x, lin)
    ledger = begin(system, dims)
    for lo in range(0, n, GROUP):
        _linearize_rows(system, dims, beta_a, x, lin, lo, min(n, lo + GROUP), ledger)
        close_group(ledger)
    set_blocks(system, beta_a, x, lin)


def linearize_shared(
    system: System,
    dims: tuple[int, ...],
    beta_a: Array,
    x: Array,
    lin: Linearization,
    threads: int | None = None,
) -> None:
    """`linearize` on all cores or `threads` threads, with the same bits."""
    set_keys(x, lin)
    share_out(
        (
            (_linearize_rows, system, dims, beta_a, x, lin, *group, ledger)
            for group, ledger in groups(system, dims, x, threads)
        ),
        threads,
    )
    set_blocks(system, beta_a, x, lin)


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_changed(
    rate: float,
    keys: Array,
    x: Array,
    u: Array,
    lo: int,
    hi: int,
    room: Array,
    sums: Array,
) -> None:
    """Add Σ w a_j and Σ w [u_j + (x_j − x) a_j] with a_j = β⟨x, u_j⟩ over lo ≤ j < hi to `sums`."""
    d = x.size
    nothing = np.empty(0)
    beta = rate / LOG2E
    for start in range(lo, hi, room.shape[1]):
        count = min(hi, start + room.shape[1]) - start
        weigh(rate, keys, nothing, x, start, start + count, room)
        weights, along = room[0], room[1 + d]
        for j in range(count):
            along[j] = 0.0
        for c in range(d):
            moved, own = u[c], beta * x[c]
            for j in range(count):
                along[j] += own * moved[start + j]
        total = 0.0
        for j in range(count):
            along[j] *= weights[j]
            total += along[j]
        sums[0] += total
        for c in range(d):
            moved, gap = u[c], room[1 + c]
            total = 0.0
            for j in range(count):
                total += weights[j] * moved[start + j] + along[j] * gap[j]
            sums[1 + c] += total


class Changes(NamedTuple):
    """Running sums of the changes of tokens, as `fold` and `far_changes` keep them."""

    state: Array
    ledger: Array
    scratch: Array


@njit(cache=True, nogil=True)
def no_changes(system: System, dims: tuple[int, ...]) -> Changes:
    """No token has moved yet."""
    size = system.table.shape[1]
    return Changes(np.zeros((4, size)), np.zeros((8, size)), make_scratch(dims, system.table))


@njit(cache=True, nogil=True)
def solve_rows(
    system: System,
    dims: tuple[int, ...],
    x: Array,
    lin: Linearization,
    inverses: Array,
    right: Array,
    u: Array,
    lo: int,
    hi: int,
    changes: Changes,
) -> None:
    """Solve (diagonal − J) u = right by forward substitution; see `parkade.engine.solve.solve`.

    For the tokens lo ≤ k < hi, lo a multiple of FOLD, after those before them.
    """
    d = len(dims)
    near, rate = leaves_near(dims), system.A[0, 0]
    chunk = CHUNK if near else 1
    state, ledger, scratch = changes
    room = make_room(d)
    far, sums, pushed = np.empty((CHUNK, 2 + d)), np.empty(1 + d), np.empty(d)
    work = finish_room(d, inverses)
    v_scalar = scalar(system.V)
    for k0 in range(lo, hi, chunk):
        k1 = min(hi, k0 + chunk)
        if k0 % FOLD == 0:
            fold(state, ledger)
        far_changes(dims, system.table, x, u, k0, k1, scratch, state, far, v_scalar == 0.0)
        for k in range(k0, k1):
            if lin.lone[k]:
                for c in range(1 + d):
                    sums[c] = 0.0
                _add_changed(rate, lin.keys, x[k], u, 0, k, room, sums)
            else:
                sums[0] = far[k - k0, 0]
                for c in range(d):
                    sums[1 + c] = far[k - k0, 2 + c] + far[k - k0, 1] * x[k, c]
                if near and k0 < k:
                    _add_changed(rate, lin.keys, x[k], u, k0, k, room, sums)
            # p_kk = 1/Z_k
            for c in range(d):
                pushed[c] = lin.shares[0, k] * (sums[1 + c] - sums[0] * lin.mean[k, c])
            finish(system.V, v_scalar, lin.keys, lin.axes, inverses, k, pushed, right, u, work)
