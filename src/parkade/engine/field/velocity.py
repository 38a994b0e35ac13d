"""Velocities of transformers: forces of heads and MLP, and the clock of the normalisation."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numba.extending import register_jitable

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import LANES
from parkade.engine.compile.threads import cores, share_out
from parkade.engine.field.field import NGPT, PERI, POST, PRE, SQRT, Field
from parkade.engine.field.mlp import add_network
from parkade.engine.field.projections import (
    FEW,
    Projections,
    allocate_projections,
    multiply_few,
    project,
    to_columns,
)
from parkade.engine.field.sums import means

CHUNK = 128
"""Tokens per task; matrix products of other sizes might round differently."""


@register_jitable
def chunks(n: int) -> int:
    """The number of chunks of n tokens."""
    return -(-n // CHUNK)


@register_jitable
def chunk(n: int, i: int) -> tuple[int, int]:
    """The first token of chunk i of n tokens, and the end.

    The first chunk may be short: under a causal mask it has the fewest keys.
    """
    hi = n - CHUNK * ((n - 1) // CHUNK - i)
    return max(0, hi - CHUNK), hi


@njit(allocates=True)
def forces(field: Field, projections: Projections, lo: int, hi: int) -> Array:
    """f_k for the tokens lo ≤ k < hi."""
    x = projections.tokens[lo:hi]
    mean = np.empty((projections.values.shape[0], max(hi - lo, LANES)))
    means(field, projections, lo, hi, mean)
    if x.shape[1] <= FEW:
        force = _forces_few(field, x, mean)
    else:
        force = np.dot(x, field.own_value.T)
        if field.slopes.size > 0:
            force += np.dot(mean.T, field.outputs.T)[: hi - lo]
    if field.inner.shape[0] > 0:
        add_network(field, x, force)
    return force


@njit(allocates=True)
def _forces_few(field: Field, x: Array, mean: Array) -> Array:
    """Forces of heads in few dimensions."""
    size, d = x.shape
    columns, own, pulled = np.empty((d, size)), np.empty((d, size)), np.empty((d, size))
    to_columns(x, columns)
    multiply_few(field.own_value, columns, size, own, 0)
    multiply_few(field.outputs, mean, size, pulled, 0)
    force = np.empty((size, d))
    for k in range(size):
        for c in range(d):
            force[k, c] = own[c, k] + pulled[c, k]
    return force


@njit(error_model="numpy")
def clock_of(field: Field, size: float, log_radius: float) -> float:
    """s_k, where the force has this size."""
    if field.norm == PRE:
        return math.exp(log_radius)
    if field.norm == PERI:
        return math.exp(log_radius) * size
    if field.norm == NGPT:
        return size / field.alpha
    if field.norm == SQRT:
        return math.sqrt(field.now[0] + 1.0)
    return 1.0


@njit(error_model="numpy")
def _move(field: Field, x: Array, force: Array, lo: int, hi: int, out: Array) -> None:
    """Set rows of d/dt of the state from f_k."""
    d, columns = force.shape[1], x.shape[1]
    for k in range(lo, hi):
        f = force[k - lo]
        radial = 0.0
        for c in range(d):
            radial += f[c] * x[k, c]
        square = 0.0
        for c in range(d):
            out[k, c] = f[c] - radial * x[k, c]
            square += out[k, c] * out[k, c]
        if field.norm == POST and columns == d:
            continue
        whole = radial + field.leading
        s = clock_of(field, math.sqrt(square + whole * whole), x[k, d] if columns > d else 0.0)
        for c in range(d):
            out[k, c] /= s
        if columns > d:
            out[k, d] = whole / s if field.norm == PRE or field.norm == PERI else 0.0


@njit(allocates=True, apart=True)
def rows(field: Field, x: Array, projections: Projections, lo: int, hi: int, out: Array) -> None:
    """Set d/dt of the state of the tokens lo ≤ k < hi, after `project` for all tokens."""
    _move(field, x, forces(field, projections, lo, hi), lo, hi, out)


@njit(allocates=True)
def projected(field: Field, x: Array) -> Projections:
    """New projections, after `project` for all tokens."""
    n = x.shape[0]
    projections = allocate_projections(field, n)
    for i in range(chunks(n)):
        lo, hi = chunk(n, i)
        project(field, x, projections, lo, hi)
    return projections


@njit(allocates=True)
def whole(field: Field, x: Array, out: Array) -> None:
    """Set d/dt of the state of all tokens."""
    n, projections = x.shape[0], projected(field, x)
    for i in range(chunks(n)):
        lo, hi = chunk(n, i)
        rows(field, x, projections, lo, hi, out)


_spare: deque[Projections] = deque(maxlen=1)
"""The arrays of the last call: new memory from the system costs a tenth of the time."""

_LARGEST = 2**24  # most bytes that are stored between calls


def _take_projections(field: Field, n: int) -> Projections:
    """The projections of the last call if they fit, or new ones."""
    try:
        projections = _spare.pop()
    except IndexError:
        return allocate_projections(field, n)
    shapes = (n, field.own_value.shape[0]), len(field.keys), len(field.values)
    if shapes == (projections.tokens.shape, len(projections.keys), len(projections.values)):
        return projections
    return allocate_projections(field, n)


def shared(field: Field, x: Array, out: Array, threads: int | None = None) -> None:
    """`whole`, shared out to all cores or to `threads` threads, with the same bits."""
    n = len(x)
    projections = _take_projections(field, n)
    spans = [chunk(n, i) for i in range(chunks(n))]
    share_out(((project, field, x, projections, *span) for span in spans), threads)
    # The last first: under a causal mask they cost most.
    share_out(((rows, field, x, projections, *span, out) for span in spans[::-1]), threads)
    if sum(part.nbytes for part in projections) <= _LARGEST:
        _spare.append(projections)


@njit()
def whole_batch(field: Field, x: Array, out: Array) -> None:
    """`whole` for many systems, (systems, n, columns)."""
    for s in range(x.shape[0]):
        whole(field, x[s], out[s])


def velocity(field: Field, x: Array, threads: int | None = None) -> Array:
    """d/dt of one state (n, columns) or many (systems, n, columns)."""
    batch = np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
    out = np.empty_like(batch)
    if len(batch) == 1:
        shared(field, batch[0], out[0], threads)
    else:
        size = -(-len(batch) // (cores() if threads is None else threads))
        some = [slice(i, i + size) for i in range(0, len(batch), size)]
        share_out(((whole_batch, field, batch[i], out[i]) for i in some), threads)
    return out.reshape(x.shape)
