"""The workspace of a run, like `Integrator.workspace`, by functions that can be compiled.

The engine's own functions are for Python: they check the memory of the machine, and the types of
their results depend on their arguments. The tests compare both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slots import flags, floats, integers

from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.compile.simd import WIDTH
from parkade.engine.jacobian.linearization import Linearization, padded
from parkade.engine.steps import explicit
from parkade.engine.steps.clock import new_clock
from parkade.engine.steps.stages import STAGES, ImplicitWork, Whole
from parkade.engine.steps.trust import PLACE

CLOCK = new_clock()
"""The clock of a run that has not begun."""


@njit()
def set_clock(clock: Array) -> None:
    """Set a clock to that of a run that has not begun."""
    for i in range(CLOCK.size):
        clock[i] = CLOCK[i]


@njit()
def _explicit(n: int, d: int) -> explicit.ExplicitWork:
    clock = floats((CLOCK.size,))
    set_clock(clock)
    y, error, watch = floats((n, d)), floats((n, d)), floats((n, PLACE + d))
    return explicit.ExplicitWork(clock, floats((7, n, d)), y, error, watch)


@njit()
def _linearization(n: int, d: int, rows: int, full: bool) -> Linearization:
    """The workspace of a Jacobian, `linearization.allocate`, with weights for all rows or none."""
    offsets = integers((rows + 1,))
    for k in range(rows):
        offsets[k + 1] = offsets[k] + padded(n if full else k)
    return Linearization(
        keys=floats((d, padded(n))),
        weights=floats((offsets[-1],)),
        offsets=offsets,
        shares=floats((4, n)),
        lone=flags((n,)),
        axes=integers((n,)),
        queries=floats((n, d)),
        mean=floats((n, d)),
        velocity=floats((n, d)),
        blocks=floats((n, d - 1, d - 1)),
        moments=floats((d, n, d)),
        products=floats((d, n, d)),
    )


@njit()
def _whole(size: int) -> Whole:
    return Whole(floats((size, size)), floats((size, size)), integers((size,)))


@njit()
def _implicit(n: int, d: int, lin: Linearization, whole: Any, blocks: int) -> ImplicitWork:
    clock = floats((CLOCK.size,))
    set_clock(clock)
    return ImplicitWork(
        clock=clock,
        growth=floats((n,)),
        place=floats((n, d)),
        noise=floats((n,)),
        watch=floats((n, PLACE + d)),
        lin=lin,
        u=floats((STAGES, d, padded(n))),
        y=floats((n, d)),
        slope=floats((n, d)),
        whole=whole,
        inverses=floats((blocks, d - 1, -(-(d - 1) // WIDTH) * WIDTH)),
        audited=floats((n, d)),
    )


@njit()
def _direct(n: int, d: int) -> ImplicitWork:
    return _implicit(n, d, _linearization(n, d, n, False), None, n)


@njit()
def _harmonic(n: int, d: int) -> ImplicitWork:
    return _implicit(n, d, _linearization(n, d, 0, False), None, n)


@njit()
def _full(n: int, d: int) -> ImplicitWork:
    return _implicit(n, d, _linearization(n, d, n, True), _whole(n * (d - 1)), 0)


ROOM: dict[tuple[str, str], Callable[[int, int], Any]] = {
    ("explicit", "direct"): _explicit,
    ("explicit", "harmonic"): _explicit,
    ("implicit", "direct"): _direct,
    ("implicit", "harmonic"): _harmonic,
    ("implicit", "full"): _full,
}
"""Functions of n and d that make a workspace, by method and kind of engine."""
