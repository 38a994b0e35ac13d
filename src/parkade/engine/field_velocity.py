"""Velocities of transformers: forces of heads and MLP, and the clock of the normalisation."""

from __future__ import annotations

import math

import numpy as np

from parkade.base.types import Array
from parkade.engine.field import NGPT, PERI, PRE, SQRT, Field
from parkade.engine.field_mlp import add_network
from parkade.engine.field_room import Room, make_room, project
from parkade.engine.field_sums import means
from parkade.engine.jit import njit
from parkade.engine.threads import cores, share_out

CHUNK = 128
"""Tokens per task; matrix products of other sizes might round differently."""


@njit(allocates=True)
def forces(field: Field, room: Room, lo: int, hi: int) -> Array:
    """f_k for the tokens lo ≤ k < hi."""
    x = room.tokens[lo:hi]
    force: Array = np.dot(x, field.own_value.T)
    if field.slopes.size > 0:
        mean = np.empty((hi - lo, room.values.shape[0]))
        means(field, room, lo, hi, mean)
        force += np.dot(mean, field.outputs.T)
    if field.inner.shape[0] > 0:
        add_network(field, x, force)
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
        whole = radial + field.leading
        s = clock_of(field, math.sqrt(square + whole * whole), x[k, d] if columns > d else 0.0)
        for c in range(d):
            out[k, c] /= s
        if columns > d:
            out[k, d] = whole / s if field.norm == PRE or field.norm == PERI else 0.0


@njit(allocates=True, apart=True)
def rows(field: Field, x: Array, room: Room, lo: int, hi: int, out: Array) -> None:
    """Set d/dt of the state of the tokens lo ≤ k < hi, after `project` for all tokens."""
    _move(field, x, forces(field, room, lo, hi), lo, hi, out)


@njit(allocates=True)
def whole(field: Field, x: Array, out: Array) -> None:
    """Set d/dt of the state of all tokens."""
    n = x.shape[0]
    room = make_room(field, n)
    for lo in range(0, n, CHUNK):
        project(field, x, room, lo, min(n, lo + CHUNK))
    for lo in range(0, n, CHUNK):
        rows(field, x, room, lo, min(n, lo + CHUNK), out)


def shared(field: Field, x: Array, out: Array, threads: int | None = None) -> None:
    """`whole`, shared out to all cores or to `threads` threads, with the same bits."""
    n = len(x)
    room = make_room(field, n)
    chunks = [(lo, min(n, lo + CHUNK)) for lo in range(0, n, CHUNK)]
    share_out(((project, field, x, room, *chunk) for chunk in chunks), threads)
    # The last first: under a causal mask they cost most.
    share_out(((rows, field, x, room, *chunk, out) for chunk in chunks[::-1]), threads)


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
