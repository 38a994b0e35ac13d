"""RODAS4P: for causal attention, an implicit step for about the price of an explicit one.

The causal Jacobian is block lower triangular (`linear`), so the linear systems of a Rosenbrock
method are solved by forward substitution, and steps grow with the time scale of the motion:
a run to t = 1e60 takes some thousand steps.

Each step works in the gnomonic chart at its start, x = (x⁰ + v)/|x⁰ + v| with v ⊥ x⁰, in
which norms do not drift and the method keeps its order.

An implicit step damps what it does not resolve, growth as well as decay, and would freeze a
token near an unstable equilibrium for ever. Steps are therefore limited to h·g ≤ 1, where g
is the largest growth rate of a token. But a token may sit on such an equilibrium exactly, or
drift along with one: if it stays in its place while perturbations should have grown by
e^800, more than any float64 can hold, there are none, and it is released from the limit
until it has gone elsewhere.

Coefficients: G. Steinebach 1995, in E. Hairer, G. Wanner, Solving Ordinary Differential
Equations II (1996), section IV.7; the step controller is Gustafsson's, section IV.8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parkade import check
from parkade.engine.jacobian import forward, linearize
from parkade.engine.linear import Linearization, allocate, padded
from parkade.engine.simd import LOG2E, WIDTH
from parkade.engine.solve import assemble, factorize, growth, invert, solve_whole
from parkade.engine.system import System
from parkade.engine.tangent import FUSED
from parkade.engine.vectors import (
    copy,
    frobenius,
    largest,
    noise_speed,
    normalize,
    note_motion,
)
from parkade.engine.velocity import evaluate
from parkade.types import Array

ORDER = 4
STAGES = 6
DENSE = 2

_GAMMA = 0.25
# Stage i: (I/(γh) − J) U_i = f(Σ_j A_ij U_j) + (1/h) Σ_j C_ij U_j; the last U is the error.
_A = np.zeros((6, 6))
_A[1, :1] = [3.0]
_A[2, :2] = [1.831036793486759, 0.4955183967433795]
_A[3, :3] = [2.304376582692669, -0.05249275245743001, -1.176798761832782]
_A[4, :4] = [-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401]
_A[5, :4] = _A[4, :4]
_A[5, 4] = 1.0
_C = np.zeros((6, 6))
_C[1, :1] = [-12.0]
_C[2, :2] = [-8.791795173947035, -2.207865586973518]
_C[3, :3] = [10.81793056857153, 6.780270611428266, 19.5348594464241]
_C[4, :4] = [34.19095006749676, 15.49671153725963, 54.7476087596413, 14.16005392148534]
_C[5, :5] = [
    34.62605830930532,
    15.30084976114473,
    56.99955578662667,
    18.40807009793095,
    -5.714285714285717,
]
_H = np.zeros((2, 6))
_H[0, :4] = [25.09876703708589, 11.62013104361867, 28.49148307714626, -5.664021568594133]
_H[1, :5] = [
    1.638054557396973,
    -0.7373619806678748,
    8.47791821923899,
    15.9925314877952,
    -1.882352941176471,
]

_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 6.0
_RELEASE = 800.0  # e-foldings after which a token that stays has nothing to grow from
_PLACE = 0.05  # how far a token may drift and still stay in its place

TIME, STEP, ERROR, OLD_STEP, REJECTED, MOTION = 0, 1, 2, 3, 4, 5  # places in Work.clock


class Work(NamedTuple):
    """The state of a run between calls, and the arrays it works in."""

    clock: Array
    growth: Array  # (n,): ∫g dt of each token while it stays in its place
    place: Array  # (n, d)
    lin: Linearization
    u: Array  # (stages, d, padded n)
    y: Array  # (n, d)
    slope: Array  # (n, d)
    whole: Array  # (N, N), N = n (d-1): the Jacobian of full attention
    factors: Array  # (N, N): its LU factors
    pivots: Array  # (N,)
    inverses: Array  # (n, d-1, padded d-1): of the blocks of causal attention


def workspace_bytes(n: int, d: int, *, causal: bool, stores: bool = True) -> float:
    """Memory a run takes."""
    weights, whole = (4.0 * n * n, 0.0) if causal else (8.0 * n * n, 16.0 * (n * (d - 1.0)) ** 2)
    return (weights if stores else 0.0) + whole + 8.0 * n * d * (4 * d + 20)


def workspace(n: int, d: int, *, causal: bool, stores: bool = True) -> Work:
    """Room for a run of n tokens in dimension d, with direct sums (which it stores) or without."""
    check.fits_in_memory(
        workspace_bytes(n, d, causal=causal, stores=stores),
        f"the implicit method with {n} tokens",
        "use method='explicit', which stores no weights",
    )
    size = d - 1
    whole = 0 if causal else n * size  # full attention is one block that holds all tokens
    return Work(
        clock=np.zeros(6),
        growth=np.zeros(n),
        place=np.zeros((n, d)),
        lin=allocate(n, d, causal=causal, stores=stores),
        u=np.zeros((STAGES, d, padded(n))),
        y=np.empty((n, d)),
        slope=np.empty((n, d)),
        whole=np.empty((whole, whole)),
        factors=np.empty((whole, whole)),
        pivots=np.empty(whole, dtype=np.int64),
        inverses=np.empty((n if causal else 0, size, -(-size // WIDTH) * WIDTH)),
    )


@njit(cache=True, nogil=True)
def start(
    system: System,
    dims: tuple[int, ...],
    x: Array,
    work: Work,
    t_end: float,
    tol: float,
) -> None:
    """Set the clock to time 0 with a cautious first step."""
    work.clock[:] = 0.0
    work.growth[:] = 0.0
    copy(x, work.place)
    # No token is faster than |Vμ| + |Bx|; |μ| ≤ 2.
    speed = 2.0 * frobenius(system.V) + frobenius(system.B)
    work.clock[STEP] = min(t_end, 0.1 * tol**0.25 / max(speed, 1e-300))
    work.clock[ERROR] = 1.0


@njit(cache=True, nogil=True, fastmath=FUSED)
def _combine(coefficients: Array, scale: float, u: Array, x: Array, out: Array) -> None:
    """Set out = x + scale Σ_i coefficients_i u_i, with u_i in (d, n) order."""
    n, d = x.shape
    row = np.empty(n)  # sums run along memory here, and are turned into columns at the end
    for c in range(d):
        for k in range(n):
            row[k] = 0.0
        for i in range(coefficients.size):
            a, term = scale * coefficients[i], u[i, c]
            if a != 0.0:
                for k in range(n):
                    row[k] += a * term[k]
        for k in range(n):
            out[k, c] = x[k, c] + row[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _chart_slope(system: System, dims: tuple[int, ...], x: Array, y: Array, out: Array) -> None:
    """dv/dt at v = y − x, in the chart at x; `y` is normalised on the way.

    A stage that leaves the chart gives no finite numbers, and its step is rejected.
    """
    n, d = x.shape
    normalize(y)
    evaluate(system, dims, y, out)
    for k in range(n):
        cosine = 0.0
        radial = 0.0
        for c in range(d):
            cosine += x[k, c] * y[k, c]
            radial += x[k, c] * out[k, c]
        r = 1.0 / cosine
        for c in range(d):
            out[k, c] = r * (out[k, c] - r * radial * y[k, c])


@njit(cache=True, nogil=True)
def _limit(system: System, work: Work, h: float, rates: Array) -> float:
    """The step that keeps every bound token's growth below e; `rates` gets those in the way."""
    limit = h
    if not system.causal:
        g = growth(work.whole, 1.0 / h)
        for k in range(rates.size):
            rates[k] = g
        bound = False
        for k in range(rates.size):
            bound = bound or work.growth[k] < _RELEASE
        return 1.0 / g if g > 0.0 and bound else h
    for k in range(work.growth.size):
        rates[k] = 0.0
        if work.growth[k] < _RELEASE:
            g = growth(work.lin.blocks[k], 1.0 / h)
            if g > 0.0:
                rates[k] = g
                limit = min(limit, 1.0 / g)
    return limit


@njit(cache=True, nogil=True)
def _settle(work: Work, h: float, rates: Array) -> None:
    """Count the growth of tokens that stay in their place, now that a step is taken."""
    n, d = work.y.shape
    for k in range(n):
        square = 0.0
        for c in range(d):
            square += (work.y[k, c] - work.place[k, c]) ** 2
        if square > _PLACE**2:
            work.growth[k] = 0.0
            for c in range(d):
                work.place[k, c] = work.y[k, c]
        else:
            work.growth[k] += h * rates[k]


@njit(cache=True, nogil=True)
def _stages(
    system: System,
    dims: tuple[int, ...],
    x: Array,
    work: Work,
    h: float,
) -> None:
    """Solve the six stages of a step of size h into work.u."""
    if system.causal:
        invert(work.lin.blocks, 1.0 / (_GAMMA * h), work.inverses)
    else:
        factorize(work.whole, 1.0 / (_GAMMA * h), work.factors, work.pivots)
    for s in range(STAGES):
        if s == 0:
            copy(work.lin.velocity, work.slope)
        else:
            _combine(_A[s, :s], 1.0, work.u, x, work.y)
            _chart_slope(system, dims, x, work.y, work.slope)
            _combine(_C[s, :s], 1.0 / h, work.u, work.slope, work.slope)
        if system.causal:
            forward(system, dims, x, work.lin, work.inverses, work.slope, work.u[s])
        else:
            solve_whole(work.lin, work.factors, work.pivots, work.slope, work.u[s])


@njit(cache=True, nogil=True)
def advance(
    system: System,
    dims: tuple[int, ...],
    x: Array,
    work: Work,
    t_end: float,
    tol: float,
    fixed: bool,
    times: Array,
    tokens: Array,
    dense: Array,
) -> int:
    """Take steps from `x` until t_end or until the output is full; see `explicit.advance`.

    Steps may be too short to change t: at t = 1e50 a merge still takes a time of order one.
    """
    n, d = x.shape
    clock, u = work.clock, work.u
    beta_a = system.A / LOG2E
    noise = noise_speed(system.V, system.accuracy)
    rates = np.zeros(n)
    nothing = np.zeros_like(x)
    count = 0
    while count < times.size and clock[TIME] < t_end:
        linearize(system, dims, beta_a, x, work.lin)
        if not system.causal:
            assemble(system, work.lin, work.whole)
        speed = largest(work.lin.velocity)
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
            _stages(system, dims, x, work, h)
            error = 0.0
            for k in range(n):
                square = 0.0
                for c in range(d):
                    square += u[STAGES - 1, c, k] ** 2
                if not square <= error:
                    error = square
            error = np.sqrt(error) / tol
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
        _combine(_A[STAGES - 1], 1.0, u, x, work.y)
        for k in range(n):
            for c in range(d):
                work.y[k, c] += u[STAGES - 1, c, k]
        normalize(work.y)
        _settle(work, h, rates)
        for i in range(DENSE):
            _combine(_H[i], 1.0, u, nothing, dense[count, i])
        copy(work.y, x)
        clock[TIME] = t_end if last else t + h
        note_motion(clock, MOTION, t, clock[TIME], speed, noise, tol)
        times[count] = clock[TIME]
        copy(x, tokens[count])
        count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def interpolate(theta: float, start: Array, end: Array, dense: Array, out: Array) -> None:
    """Tokens at a fraction `theta` of a step with given ends (n, d) and dense arrays (2, n, d)."""
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
