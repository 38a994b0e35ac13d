"""Velocities and linearised flow by attention sums in linear time.

If β KᵀQ is a positive multiple of I, a token is in the direction of its own query, and all queries
have the same length: `harmonic` and `harmonic_linear`. Any other Q and K have queries of their own:
`general` and `general_linear`. The modules have the same functions; `System.lengths` chooses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import lacks, njit
from parkade.engine.compile.threads import share_out
from parkade.engine.jacobian import general_linear, harmonic_linear
from parkade.engine.jacobian.linearization import Linearization, set_blocks, set_keys
from parkade.engine.sums import general, harmonic
from parkade.engine.sums.pairwise import velocity_rows
from parkade.engine.sums.running import GROUP, TokenGroup, close_group
from parkade.engine.system import Dims, System


def sums(system: System) -> Any:
    """The module with the velocities of a system; chosen when a caller is compiled."""
    return harmonic if system.lengths is None else general


@overload(sums)
def _sums(system: Any) -> Any:
    module = harmonic if lacks(system, "lengths") else general

    def choose(system: Any) -> Any:
        return module

    return choose


def jacobians(system: System) -> Any:
    """The module with the linearised flow of a system; chosen when a caller is compiled."""
    return harmonic_linear if system.lengths is None else general_linear


@overload(jacobians)
def _jacobians(system: Any) -> Any:
    module = harmonic_linear if lacks(system, "lengths") else general_linear

    def choose(system: Any) -> Any:
        return module

    return choose


@njit(allocates=True)
def whole(system: System, dims: Dims, x: Array, out: Array) -> None:
    """Velocities of all tokens, on the calling thread."""
    n = x.shape[0]
    transposed = np.ascontiguousarray(x.T)
    ledger = harmonic.begin_ledger(system, dims)
    for lo in range(0, n, GROUP):
        group = TokenGroup(lo, min(n, lo + GROUP), ledger)
        if system.causal:
            sums(system).rows(system, dims, x, transposed, group, out)
        else:
            harmonic.group_sums(system, dims, x, group)
        close_group(ledger)
    if not system.causal:
        sums(system).rows(system, dims, x, transposed, TokenGroup(0, n, ledger), out)


def shared(system: System, dims: Dims, x: Array, out: Array, threads: int | None = None) -> None:
    """Velocities of all tokens, on all cores or `threads` threads, with the bits of `whole`."""
    transposed = np.ascontiguousarray(x.T)
    share_out(
        (
            (sums(system).rows, system, dims, x, transposed, group, out)
            for group in harmonic.groups(system, dims, x, threads)
        ),
        threads,
    )


def error(system: System, dims: Dims, x: Array, tokens: Iterable[int]) -> float:
    """The largest difference between harmonic and direct velocities of some tokens."""
    fast, exact = np.empty_like(x), np.empty_like(x)
    direct = system._replace(table=None, lengths=None)
    whole(system, dims, x, fast)
    gaps = [0.0]
    for k in tokens:
        velocity_rows(direct, dims, x, k, k + 1, exact)
        gaps.append(float(np.abs(fast[k] - exact[k]).max()))
    return float(np.max(gaps))  # not max(): a NaN must not vanish


@njit(allocates=True)
def linearize(system: System, dims: Dims, beta_query: Array, x: Array, lin: Linearization) -> None:
    """Fill `lin` at the tokens `x`, under the causal mask; `beta_query` is βKᵀQ."""
    n = x.shape[0]
    set_keys(x, lin)
    ledger = harmonic.begin_ledger(system, dims)
    for lo in range(0, n, GROUP):
        group = TokenGroup(lo, min(n, lo + GROUP), ledger)
        jacobians(system).linearize_rows(system, dims, beta_query, x, lin, group)
        close_group(ledger)
    set_blocks(system, beta_query, x, lin)


def linearize_shared(
    system: System,
    dims: Dims,
    beta_query: Array,
    x: Array,
    lin: Linearization,
    threads: int | None = None,
) -> None:
    """`linearize` on all cores or `threads` threads, with the same bits."""
    set_keys(x, lin)
    share_out(
        (
            (jacobians(system).linearize_rows, system, dims, beta_query, x, lin, group)
            for group in harmonic.groups(system, dims, x, threads)
        ),
        threads,
    )
    set_blocks(system, beta_query, x, lin)
