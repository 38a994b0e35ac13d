"""Velocities of whole systems, by direct or by harmonic sums, on one or all cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle, lacks, njit
from parkade.engine.compile.threads import share_out
from parkade.engine.field import velocity as field_velocity
from parkade.engine.field.field import Field
from parkade.engine.flow import linear_time
from parkade.engine.sums import pairwise
from parkade.engine.system import Dims, System, unrolled
from parkade.engine.vectors import normalize, normalize_first

PARALLEL_SECONDS = 4e-4
"""From this cost of one velocity on, several threads are faster than one."""


def velocity(system: System, x: Array, threads: int | None = None) -> Array:
    """dx/dt for one system (n, d) or many (systems, n, d), on all cores or `threads` threads."""
    batch = np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
    out = np.empty_like(batch)
    kind = unrolled(x.shape[-1])
    if system.table is None:
        tasks = (
            task
            for one, result in zip(batch, out, strict=True)
            for task in _direct(system, kind, one, result)
        )
        share_out(tasks, threads)
    elif len(batch) == 1:
        linear_time.shared(system, kind, batch[0], out[0], threads)
    else:
        pairs = zip(batch, out, strict=True)
        share_out(((linear_time.whole, system, kind, *pair) for pair in pairs), threads)
    return out.reshape(x.shape)


@njit()
def velocity_batch(system: System, dims: Dims, x: Array, out: Array) -> None:
    """Velocities of many systems (systems, n, d), on the calling thread."""
    for s in range(x.shape[0]):
        evaluate(system, dims, x[s], out[s])


def evaluate(system: System | Field, dims: Dims, x: Array, out: Array) -> None:
    """Velocity of one system: on all cores from the interpreter, on one in compiled code."""
    if isinstance(system, Field):
        field_velocity.shared(system, x, out)
    elif system.table is not None:
        linear_time.shared(system, dims, x, out)
    else:
        share_out(_direct(system, dims, x, out))


@overload(evaluate)
def _evaluate(system: Any, dims: Any, x: Any, out: Any) -> Any:
    def by_series(system: Any, dims: Any, x: Any, out: Any) -> None:
        linear_time.whole(system, dims, x, out)

    def direct(system: Any, dims: Any, x: Any, out: Any) -> None:
        pairwise.rows(system, dims, x, 0, x.shape[0], out)

    def of_field(system: Any, dims: Any, x: Any, out: Any) -> None:
        field_velocity.whole(system, x, out)

    if is_bundle(system, Field):
        return of_field
    return direct if lacks(system, "table") else by_series


def retract(system: System | Field, x: Array) -> None:
    """Scale the tokens of a state to unit length."""
    if isinstance(system, Field):
        normalize_first(x, len(system.own_value))
    else:
        normalize(x)


@overload(retract)
def _retract(system: Any, x: Any) -> Any:
    def tokens(system: Any, x: Any) -> None:
        normalize(x)

    def state(system: Any, x: Any) -> None:
        normalize_first(x, system.own_value.shape[0])

    return state if is_bundle(system, Field) else tokens


def tick(system: System | Field, t: float) -> None:
    """Tell a system that changes with time what time it is, counted from the start of the run."""
    if isinstance(system, Field):
        system.now[0] = system.origin + t


@overload(tick)
def _tick(system: Any, t: Any) -> Any:
    def never(system: Any, t: Any) -> None:
        pass

    def now(system: Any, t: Any) -> None:
        system.now[0] = system.origin + t

    return now if is_bundle(system, Field) else never


def _direct(system: System, dims: Dims, x: Array, out: Array) -> Iterator[tuple[Any, ...]]:
    """Calls for parts of the rows; the last first, because in a causal system they cost most."""
    n = len(x)
    for lo in range(0, n, pairwise.CHUNK)[::-1]:
        hi = min(n, lo + pairwise.CHUNK)
        yield pairwise.velocity_rows, system, dims, x, lo, hi, out
