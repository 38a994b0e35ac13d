"""The six stages of a step of RODAS4P, one after the other, or in a pipeline on several cores.

Stage i of token k needs stage i of the tokens before it, for the sums and for the forward
substitution, and stages before i of token k. So stage i can follow stage i − 1 from one block of
tokens to the next, on another core, and what each of them computes is the same, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from parkade.base import check
from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle, lacks, njit
from parkade.engine.compile.simd import WIDTH
from parkade.engine.compile.threads import pipeline
from parkade.engine.field.field import Field
from parkade.engine.flow import linear_time
from parkade.engine.jacobian import harmonic_linear
from parkade.engine.jacobian.full_jacobian import factorize, solve_whole
from parkade.engine.jacobian.linearization import Linearization, allocate, padded
from parkade.engine.jacobian.small_matrices import invert
from parkade.engine.jacobian.substitution import Equations, solve
from parkade.engine.steps import field_stages
from parkade.engine.steps.chart import combine, quieten, to_chart
from parkade.engine.steps.clock import new_clock
from parkade.engine.steps.tableau import RODAS4P
from parkade.engine.steps.trust import new_watch
from parkade.engine.sums import harmonic, pairwise
from parkade.engine.sums.running import GROUP, TokenGroup, close_group
from parkade.engine.system import Dims, System
from parkade.engine.vectors import copy, normalize

STAGES = 6
BLOCK = 4096
"""Tokens that a stage is ahead of the next; a divisor of `running.GROUP`."""

_A, _C, _GAMMA = RODAS4P.A, RODAS4P.C, RODAS4P.gamma


class Whole(NamedTuple):
    """The Jacobian of full attention, one matrix for all tokens, of size N = n (d-1)."""

    jacobian: Array  # (N, N)
    factors: Array  # (N, N), LU
    pivots: Array  # (N,)


class ImplicitWork(NamedTuple):
    """The state of a run between calls, and the arrays it works in."""

    clock: Array
    growth: Array  # (n,): ∫g dt of each token while it stays in its place
    place: Array  # (n, d)
    noise: Array  # (n,): speed that rounding may give a token; 0 where forces keep precision
    watch: Array  # see `trust`
    lin: Linearization
    u: Array  # (stages, d, padded n)
    y: Array  # (n, d)
    slope: Array  # (n, d)
    whole: Any  # a Whole for full attention; None under the causal mask
    inverses: Array  # (n, d-1, padded d-1): of the blocks of causal attention
    audited: Array  # (n, d): where tokens were when resting ones were last looked at; see `rest`


def workspace_bytes(n: int, d: int, *, causal: bool, stores: bool = True) -> float:
    """The memory that a run takes, in bytes."""
    # All weights, half of them under the causal mask; the whole Jacobian and its factors; four d×d
    # matrices per token (moments, products, blocks, inverses), its stages and some 20 vectors.
    weights, whole = (4.0 * n * n, 0.0) if causal else (8.0 * n * n, 16.0 * (n * (d - 1.0)) ** 2)
    return (weights if stores else 0.0) + whole + 8.0 * n * d * (4 * d + 20 + STAGES)


def workspace(n: int, d: int, *, causal: bool, stores: bool = True) -> ImplicitWork:
    """Arrays for a run of n tokens in dimension d; `stores` says whether all weights are stored."""
    check.fits_in_memory(
        workspace_bytes(n, d, causal=causal, stores=stores),
        f"the implicit method with {n} tokens",
        "use method='explicit', which stores no weights",
    )
    size = d - 1
    return ImplicitWork(
        clock=new_clock(),
        growth=np.zeros(n),
        place=np.zeros((n, d)),
        noise=np.zeros(n),
        watch=new_watch(n, d),
        lin=allocate(n, d, causal=causal, stores=stores),
        u=np.zeros((STAGES, d, padded(n))),
        y=np.empty((n, d)),
        slope=np.empty((n, d)),
        whole=None if causal else _whole(n * size),
        inverses=np.empty((n if causal else 0, size, -(-size // WIDTH) * WIDTH)),
        audited=np.zeros((n, d)),
    )


def _whole(size: int) -> Whole:
    square = size, size
    return Whole(np.empty(square), np.empty(square), np.empty(size, dtype=np.int64))


class Lane(NamedTuple):
    """What a stage carries from one block of tokens to the next, with harmonic sums."""

    stage: int
    transposed: Array  # (d, n): the tokens of this stage
    ledger: Array  # of their sums
    changes: harmonic_linear.Changes


@njit(allocates=True)
def _lane(system: System, dims: Dims, n: int, stage: int) -> Lane:
    transposed, ledger = np.empty((len(dims), n)), harmonic.begin_ledger(system, dims)
    return Lane(stage, transposed, ledger, harmonic_linear.no_changes(system, dims))


@njit(apart=True)
def _block(
    system: System, dims: Dims, x: Array, work: ImplicitWork, h: float, lane: Lane, block: int
) -> None:
    """The stage of a lane for a block of tokens, with harmonic sums, after the blocks before it."""
    s, y, slope = lane.stage, work.y, work.slope
    lo = block * BLOCK
    hi = min(x.shape[0], lo + BLOCK)
    if s == 0:
        copy(work.lin.velocity[lo:hi], slope[lo:hi])
    else:
        combine(_A[s, :s], 1.0, work.u, x, y, lo, hi)
        normalize(y[lo:hi])
        for c in range(len(dims)):
            for k in range(lo, hi):
                lane.transposed[c, k] = y[k, c]
        group = TokenGroup(lo, hi, lane.ledger)
        linear_time.sums(system).rows(system, dims, y, lane.transposed, group, slope)
        if system.floor > 0.0:
            quieten(work.noise, slope, lo, hi)
        if hi % GROUP == 0:
            close_group(lane.ledger)
        to_chart(x, y, slope, len(dims), lo, hi)
        combine(_C[s, :s], 1.0 / h, work.u, slope, slope, lo, hi)
    equations = Equations(work.lin, work.inverses, slope, work.u[s])
    jacobians = linear_time.jacobians(system)
    jacobians.solve_rows(system, dims, x, equations, lo, hi, lane.changes)


@njit(allocates=True)
def _by_blocks(system: System, dims: Dims, x: Array, work: ImplicitWork, h: float) -> None:
    n = x.shape[0]
    invert(work.lin.blocks, 1.0 / (_GAMMA * h), work.inverses)
    for s in range(STAGES):
        lane = _lane(system, dims, n, s)
        for block in range(-(-n // BLOCK)):
            _block(system, dims, x, work, h, lane, block)


@njit()
def _slope(system: System, dims: Dims, x: Array, work: ImplicitWork, h: float, s: int) -> None:
    """The right-hand side of stage s, with direct sums."""
    n = x.shape[0]
    if s == 0:
        copy(work.lin.velocity, work.slope)
        return
    combine(_A[s, :s], 1.0, work.u, x, work.y, 0, n)
    normalize(work.y)
    pairwise.rows(system, dims, work.y, 0, n, work.slope)
    if system.floor > 0.0:
        quieten(work.noise, work.slope, 0, n)
    to_chart(x, work.y, work.slope, x.shape[1], 0, n)
    combine(_C[s, :s], 1.0 / h, work.u, work.slope, work.slope, 0, n)


@njit(apart=True)
def _directly(system: System, dims: Dims, x: Array, work: ImplicitWork, h: float) -> None:
    invert(work.lin.blocks, 1.0 / (_GAMMA * h), work.inverses)
    for s in range(STAGES):
        _slope(system, dims, x, work, h, s)
        solve(system, Equations(work.lin, work.inverses, work.slope, work.u[s]))


@njit(apart=True)
def _together(system: System, dims: Dims, x: Array, work: ImplicitWork, h: float) -> None:
    """Solve all stages with full attention, where all tokens depend on each other."""
    jacobian, factors, pivots = work.whole
    factorize(jacobian, 1.0 / (_GAMMA * h), factors, pivots)
    for s in range(STAGES):
        _slope(system, dims, x, work, h, s)
        solve_whole(work.lin, factors, pivots, work.slope, work.u[s])


def stages(system: System | Field, dims: Dims, x: Array, work: Any, h: float) -> None:
    """Solve the six stages of a step of size h into work.u.

    From the interpreter, harmonic sums are shared out to all cores.
    """
    if isinstance(system, Field):
        field_stages.stages(system, x, work, h)
        return
    if system.table is None:
        (_directly if work.whole is None else _together)(system, dims, x, work, h)
        return
    n = len(x)
    invert(work.lin.blocks, 1.0 / (_GAMMA * h), work.inverses)
    lanes = [_lane(system, dims, n, s) for s in range(STAGES)]

    def advance(s: int, block: int) -> None:
        _block(system, dims, x, work, h, lanes[s], block)

    pipeline(advance, STAGES, -(-n // BLOCK))


@overload(stages)
def _stages(system: Any, dims: Any, x: Any, work: Any, h: Any) -> Any:
    if is_bundle(system, Field):

        def solve_field(system: Any, dims: Any, x: Any, work: Any, h: Any) -> None:
            field_stages.stages(system, x, work, h)

        return solve_field
    one_by_one = _directly if lacks(work, "whole") else _together
    chosen = one_by_one if lacks(system, "table") else _by_blocks

    def solve_stages(system: Any, dims: Any, x: Any, work: Any, h: Any) -> None:
        chosen(system, dims, x, work, h)

    return solve_stages
