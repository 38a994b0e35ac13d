"""Forces that rounding hides from an implicit step: their size, and how far to trust the step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import lacks, njit
from parkade.engine.jacobian.small_matrices import abscissa
from parkade.engine.steps.chart import quieten
from parkade.engine.steps.clock import TRUSTED
from parkade.engine.steps.stages import ImplicitWork
from parkade.engine.steps.trust import DOUBT, ROUNDING, drift_speed, note_growth, note_rest
from parkade.engine.system import System
from parkade.engine.vectors import frobenius, largest, noise_speed


@njit()
def find_noise(system: System, x: Array, work: ImplicitWork) -> None:
    """Set the speed that rounding may give each token, and velocities below it to zero."""
    size = 2.0 * frobenius(system.value)
    for k in range(x.shape[0]):
        square = 0.0
        for r in range(system.own_value.shape[0]):
            total = 0.0
            for c in range(system.own_value.shape[1]):
                total += system.own_value[r, c] * x[k, c]
            square += total * total
        work.noise[k] = system.floor * size * work.lin.shares[1, k] + ROUNDING * np.sqrt(square)
    quieten(work.noise, work.lin.velocity, 0, x.shape[0])


@njit()
def doubt(work: ImplicitWork, t: float, h: float, tol: float) -> None:
    """Count how far lost forces may have moved tokens that nothing holds in their place."""
    for k in range(work.noise.size):
        noise = work.noise[k]
        moves = False
        for c in range(work.y.shape[1]):
            moves = moves or work.lin.velocity[k, c] != 0.0
        if moves or noise == 0.0:
            continue
        if abscissa(work.lin.blocks[k]) > -noise / tol:
            if work.watch[k, DOUBT] + h * noise > tol:
                rest = max(0.0, tol - work.watch[k, DOUBT]) / noise
                work.clock[TRUSTED] = min(work.clock[TRUSTED], t + rest)
            work.watch[k, DOUBT] += h * noise


@njit()
def note(system: System, x: Array, work: ImplicitWork, end: float, tol: float) -> None:
    """Note what rounding may do in a step until `end`; see `trust`."""
    velocity, error = work.lin.velocity, max(ROUNDING, system.accuracy)
    note_growth(work.clock, work.watch, x, velocity, error, tol, system.causal)
    speed = largest(velocity)
    drift = drift_speed(system, x, speed, noise_speed(system.value, system.accuracy))
    if speed > drift or (drift > 0.0 and not _held(work, drift / tol)):
        note_rest(work.clock, end, speed, drift, tol)


def _held(work: ImplicitWork, least: float) -> bool:
    """Whether every token returns to its place at this rate or faster, if rounding moves it."""
    raise TypeError("_held is called from compiled code only")


@overload(_held)
def _choose_held(work: Any, least: Any) -> Any:
    def token_by_token(work: Any, least: Any) -> Any:
        top = -np.inf
        for k in range(work.noise.size):
            top = max(top, abscissa(work.lin.blocks[k]))
        return top < -least

    def together(work: Any, least: Any) -> Any:
        return False

    return token_by_token if lacks(work, "whole") else together
