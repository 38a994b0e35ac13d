"""RODAS4P: for causal attention, an implicit step costs about three explicit ones.

The causal Jacobian is block lower triangular (`linearization`), so the linear systems of a
Rosenbrock method are solved by forward substitution, and steps grow with the time scale of the
motion: a run to t = 1e60 takes some thousand steps.

Each step works in the gnomonic chart at its start, x = (x⁰ + v)/|x⁰ + v| with v ⊥ x⁰, in
which norms do not drift and the method keeps its order.

An implicit step damps what it does not resolve, growth as well as decay, and would hold a
token near an unstable equilibrium forever. Steps are therefore limited to h·g ≤ 1, where g
is the largest growth rate of a token. But a token may sit on such an equilibrium exactly, or
drift along with one: if it stays in its place while perturbations should have grown by
e^800, more than any float64 can hold, there are none, and it is released from the limit
until it moves away. How far to trust this is another question: `trust`, `solve.equilibrium`.

Where V does not attract (`System.floor`), tokens rest where large forces cancel, often free to
move in some direction. What rounding leaves of their forces would carry them along, further
than any tolerance by t ~ 1e10. It is set to zero; and since a true force of that size is lost
with it, the run is trusted only until such a force could have moved a token by tol.

The coefficients are in `tableau`; the step controller is Gustafsson's (E. Hairer, G. Wanner,
Solving Ordinary Differential Equations II (1996), section IV.8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import interpreted, lacks, njit
from parkade.engine.flow.linearized import linearize
from parkade.engine.flow.velocity import retract, tick
from parkade.engine.jacobian.small_matrices import growth
from parkade.engine.steps.chart import combine
from parkade.engine.steps.clock import ERROR, LIMIT, OLD_STEP, REJECTED, STARTED, STEP, TIME
from parkade.engine.steps.integrator import Goal, Integrator, Steps
from parkade.engine.steps.lost_forces import doubt, find_noise, note
from parkade.engine.steps.stages import STAGES, ImplicitWork, stages, workspace
from parkade.engine.steps.tableau import RODAS4P
from parkade.engine.steps.trust import ROUNDING
from parkade.engine.system import LOG2E, Dims, System
from parkade.engine.vectors import (
    REACH,
    copy,
    frobenius,
    has_moved,
    normalize,
)

_DENSE = 2

_H, _END = RODAS4P.dense, RODAS4P.end

_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 6.0
PLACE = 0.05
"""How far a token may drift and still stay in its place."""

_RELEASE = 800.0  # e-foldings after which a token that stays has nothing to grow from


@njit()
def _start(system: System, x: Array, work: ImplicitWork, goal: Goal) -> None:
    """Note where the tokens are, and set a cautious first step if the clock has none."""
    t_end, tol, _ = goal
    for k in range(x.shape[0]):
        for c in range(work.place.shape[1]):
            work.place[k, c] = x[k, c]
    # No token is faster than |Vμ| + |Bx|; |μ| ≤ 2.
    speed = 2.0 * frobenius(system.value) + frobenius(system.own_value)
    reach = REACH * LOG2E / max(frobenius(system.query), 1e-300)
    if work.clock[STEP] == 0.0:
        work.clock[STEP] = min(t_end, min(0.1 * tol**0.25, reach) / max(speed, 1e-300))
    work.clock[ERROR] = 1.0
    work.clock[STARTED] = 1.0


@njit()
def _limit(system: System, work: ImplicitWork, h: float, rates: Array) -> float:
    """The step that keeps the growth of every bound token below e; `rates` gets its rates.

    Where the motion is a power of time, it is also not much longer than the time passed.
    """
    if system.stretch < np.inf:
        h = min(h, system.stretch * (work.clock[TIME] + 1.0 / max(frobenius(system.value), 1e-300)))
    return _resolving(work, h, rates)


def _resolving(work: ImplicitWork, h: float, rates: Array) -> float:
    """The longest step up to h that resolves the growth of every bound token."""
    raise TypeError("_resolving is called from compiled code only")


@overload(_resolving)
def _choose_resolving(work: Any, h: Any, rates: Any) -> Any:
    def token_by_token(work: Any, h: Any, rates: Any) -> Any:
        limit = h
        for k in range(work.growth.size):
            rates[k] = 0.0
            if work.growth[k] < _RELEASE:
                g = growth(work.lin.blocks[k], max(1.0 / h, work.noise[k]))
                if g > 0.0:
                    rates[k] = g
                    limit = min(limit, 1.0 / g)
        return limit

    def together(work: Any, h: Any, rates: Any) -> Any:
        # The rounding error of an eigenvalue is no growth.
        least, bound = max(1.0 / h, ROUNDING * frobenius(work.whole.jacobian)), False
        for k in range(rates.size):
            least = max(least, work.noise[k])
            bound = bound or work.growth[k] < _RELEASE
        g = growth(work.whole.jacobian, least)
        for k in range(rates.size):
            rates[k] = g
        return 1.0 / g if g > 0.0 and bound else h

    return token_by_token if lacks(work, "whole") else together


@njit()
def _settle(work: ImplicitWork, h: float, rates: Array) -> None:
    """Count the growth of tokens that stay in their place, now that a step is taken."""
    n, d = work.place.shape
    for k in range(n):
        square = 0.0
        for c in range(d):
            square += (work.y[k, c] - work.place[k, c]) ** 2
        if square > PLACE**2:
            work.growth[k] = 0.0
            for c in range(d):
                work.place[k, c] = work.y[k, c]
        else:
            work.growth[k] += h * rates[k]


@njit()
def _longest(u: Array, n: int) -> float:
    """The largest length of the first n columns of u; NaN if any number is."""
    result = 0.0
    for k in range(n):
        square = 0.0
        for c in range(u.shape[0]):
            square += u[c, k] ** 2
        if not square <= result:  # not max(): a NaN must not vanish
            result = square
            if result != result:
                break
    return float(np.sqrt(result))


@njit(allocates=True)
def advance(
    system: System, dims: Dims, x: Array, work: ImplicitWork, goal: Goal, steps: Steps
) -> int:
    """Take steps from `x` until t_end or until `steps` is full; see `explicit.advance`.

    The call also ends when a token has moved as far as the clock allows.
    Steps may be too short to change t: at t = 1e50 a merge still takes a time of order one.
    As Python runs this function, harmonic sums are shared out to all cores.
    """
    t_end, tol, fixed = goal
    times, tokens, dense = steps
    n = x.shape[0]
    clock, u = work.clock, work.u
    beta_query = system.query / LOG2E
    rates = np.zeros(n)
    nothing = np.zeros_like(x)
    if clock[STARTED] == 0.0:
        _start(system, x, work, goal)
    count = 0
    while count < times.size and clock[TIME] < t_end:
        tick(system, clock[TIME])
        linearize(system, dims, beta_query, x, work)
        if system.floor > 0.0:
            find_noise(system, x, work)
        accepted = False
        while not accepted:
            t = clock[TIME]
            h = clock[STEP]
            if not fixed:
                h = _limit(system, work, h, rates)
            last = t + 1.000001 * h >= t_end
            if last:
                h = t_end - t
            if not h > 1e-300:
                return -1
            stages(system, dims, x, work, h)
            error = _longest(u[STAGES - 1], n) / tol
            accepted = fixed or error <= 1.0
            if not fixed:
                # Shrinking factors; Gustafsson's prediction uses the last accepted step too.
                factor = min(1 / _SHRINK, max(1 / _GROW, error**0.25 / _SAFETY))
                if not error < 1e300:
                    factor = 1 / _SHRINK
                if accepted:
                    error = max(error, 1e-2)
                    if clock[OLD_STEP] > 0.0:
                        predicted = clock[OLD_STEP] / h * (error**2 / clock[ERROR]) ** 0.25
                        factor = max(factor, min(1 / _SHRINK, predicted / _SAFETY))
                    clock[OLD_STEP] = h
                    clock[ERROR] = error
                else:
                    clock[REJECTED] += 1
                if not (accepted and last):
                    clock[STEP] = h / factor
        combine(_END, 1.0, u, x, work.y, 0, n)
        retract(system, work.y)
        _settle(work, h, rates)
        if system.floor > 0.0 and system.causal:
            doubt(work, t, h, tol)
        for i in range(_DENSE):
            combine(_H[i], 1.0, u, nothing, dense[count, i], 0, n)
        end = t_end if last else t + h
        note(system, x, work, end, tol)
        copy(work.y, x)
        clock[TIME] = end
        times[count] = clock[TIME]
        copy(x, tokens[count])
        count += 1
        if has_moved(x, work.audited, clock[LIMIT]):
            break
    return count


@njit(error_model="numpy")
def interpolate(theta: float, start: Array, end: Array, dense: Array, out: Array) -> None:
    """Tokens at a fraction `theta` of a step from its ends (n, d) and dense arrays (2, n, d)."""
    d = out.shape[1]
    for k in range(out.shape[0]):
        cosine = 0.0
        for c in range(d):
            cosine += start[k, c] * end[k, c]
        for c in range(d):
            x = start[k, c]
            chart = end[k, c] / cosine - x
            inner = dense[0, k, c] + theta * dense[1, k, c]
            out[k, c] = x + theta * (chart + (1 - theta) * inner)
    normalize(out)


IMPLICIT = Integrator(
    name="implicit",
    order=4,
    stages=STAGES,
    dense=_DENSE,
    workspace=workspace,
    advance=advance,
    advance_on_all_cores=interpreted(advance),
    interpolate=interpolate,
)
