"""The plan of a run of one head, by the rules of `solve`: the integrator, the sums, the arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numerics.coefficients import fourier, legendre
from numerics.matrices import inside, is_zero, multiply
from numerics.precise import fused
from numerics.symmetric import spectral_norm
from runs.framing import RunFrame, frame_of
from slots import floats

from parkade.base.constants import EPSILON
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.engine.sums import pairwise
from parkade.engine.sums.harmonic import ROUNDING
from parkade.engine.sums.series import SERIES
from parkade.engine.system import LOG2E
from parkade.engine.vectors import scalar
from parkade.explorer.settings.limits import STABLE_STEP
from parkade.solve.lowering.lower import LONGEST_STRETCH, MOST_ROUNDING
from parkade.solve.planning import rules
from parkade.solve.planning.sums import MOST_HARMONICS, SMALLEST_BETA

IMPLICIT = tuple(method == "implicit" for method, _ in rules.VERDICTS)

# Functions of the library, compiled here.
_is_short, _explicit_is_cheaper = njit()(rules.is_short), njit()(rules.explicit_is_cheaper)
_long_run, _too_fine = njit()(rules.long_run), njit()(rules.too_fine)
_allowed_error, _allowed_tail = njit()(rules.allowed_error), njit()(rules.allowed_tail)
_pair_seconds = njit()(pairwise.seconds)
_fourier_size, _legendre_size = (njit()(SERIES[d].rough_size) for d in (2, 3))
_fourier_seconds, _legendre_seconds = (njit()(SERIES[d].seconds) for d in (2, 3))


class HeadTraits(NamedTuple):
    """The matrices of a head, and its traits."""

    V: Array
    Q: Array
    K: Array
    product: Array  # KᵀQ
    beta: float
    rate: float  # |V|
    sharpness: float  # β|KᵀQ|


class RunRequest(NamedTuple):
    """A run to be planned."""

    n: int
    frozen: int  # the number of frozen tokens
    causal: bool
    t_end: float
    tol: float
    implicit: bool  # whether to prefer this method, because explicit steps were too short


class SumsPlan(NamedTuple):
    """The table of harmonic sums, empty for direct ones, and their accuracy."""

    table: Array
    accuracy: float
    seconds: float  # approximate time of one velocity
    direct_seconds: float  # the same for direct sums


@njit()
def transposed_product(scale: float, K: Array, Q: Array, out: Array) -> None:
    """Set out = (scale Kᵀ) Q, rounded as by BLAS, which decides whether it is a multiple of I."""
    d = K.shape[0]
    for r in range(d):
        for c in range(d):
            total = 0.0
            for i in range(d):
                total = fused(scale * K[i, r], Q[i, c], total)
            out[r, c] = total


@njit(allocates=True)
def head_of(V: Array, Q: Array, K: Array, beta: float) -> HeadTraits:
    """A head with its traits."""
    d = V.shape[0]
    product = floats((d, d))
    transposed_product(1.0, K, Q, product)
    return HeadTraits(V, Q, K, product, beta, spectral_norm(V), beta * spectral_norm(product))


@njit(allocates=True)
def verdict_on(head: HeadTraits, wanted: RunRequest) -> tuple[int, RunFrame]:
    """The index of the verdict in `rules`, and the frame, as chosen by `solve.planning.plan`."""
    d, n, causal = head.V.shape[0], wanted.n, wanted.causal
    if not wanted.implicit and _is_short(wanted.t_end, head.rate, d):
        return rules.BRIEF, frame_of(head.V, head.product, False, False)
    frame = frame_of(head.V, head.product, True, wanted.frozen == 0)
    small = causal or n * (d - 1) <= rules.WHOLE
    verdict = _long_run(frame.rotates, not is_zero(frame.spin), causal, small)
    if wanted.implicit:
        verdict = rules.INSTEAD if IMPLICIT[verdict] else verdict
    elif frame.attracts and is_multiple(head.product) and head.product[0, 0] >= 0.0:
        seconds = _pair_seconds(float(n * n), d)
        if _explicit_is_cheaper(wanted.t_end, head.rate, head.sharpness, n, d, causal, seconds):
            verdict = rules.CHEAPER
    if not IMPLICIT[verdict]:
        frame = frame_of(head.V, head.product, False, False)
    return verdict, frame


@njit()
def is_multiple(A: Array) -> bool:
    """Whether a matrix is a multiple of I."""
    return scalar(A) != 0.0 or is_zero(A)


@njit(allocates=True)
def sums_of(head: HeadTraits, wanted: RunRequest, implicit: bool, attracts: bool) -> SumsPlan:
    """The sums, as chosen by `sums.choose`; but direct ones unless KᵀQ is a multiple of I."""
    d, n, causal = head.V.shape[0], wanted.n, wanted.causal
    rate = head.beta * scalar(head.product)
    passes = 1 if causal else 2
    pairs = (0.5 if causal else 1.0) * n * n + n * wanted.frozen * passes
    seconds = _pair_seconds(pairs, d)
    direct = SumsPlan(floats((0, 0)), 0.0, seconds, seconds)
    accuracy = _allowed_error(wanted.tol)
    if not rate > SMALLEST_BETA or (implicit and not causal) or (implicit and not attracts):
        return direct
    if _too_fine(wanted.tol) or ROUNDING * wanted.frozen > accuracy:
        return direct
    tail = _allowed_tail(accuracy, ROUNDING, float(n + wanted.frozen))
    size = _fourier_size(rate, tail) if d == 2 else _legendre_size(rate, tail)
    if size > MOST_HARMONICS or passes * _seconds(size, n, d) > seconds:
        return direct
    table = fourier(rate, tail) if d == 2 else legendre(rate, tail)
    cost = passes * _seconds(table.shape[1], n, d)
    return direct if cost > seconds else SumsPlan(table, accuracy, cost, seconds)


@njit()
def _seconds(size: int, n: int, d: int) -> float:
    return _fourier_seconds(size, n) if d == 2 else _legendre_seconds(size, n)


@njit(allocates=True)
def query_of(head: HeadTraits, frame: RunFrame) -> Array:
    """The matrix that takes a token to its query, in the frame, as `lower.prepare` makes it."""
    d = head.V.shape[0]
    A, out = floats((d, d)), floats((d, d))
    transposed_product(LOG2E * head.beta, head.K, head.Q, A)
    if is_multiple(A):
        return A  # no frame changes it
    inside(A, frame.basis, out)
    return out


@njit()
def floor_of(query: Array, frame: RunFrame, accuracy: float) -> float:
    """The force, relative to its terms, below which it counts as rounding: see `lower.prepare`."""
    if frame.attracts:
        return 0.0
    rounding = EPSILON * (4.0 + 0.5 * spectral_norm(query) / LOG2E)
    return max(min(rounding, MOST_ROUNDING), accuracy)


@njit()
def stretch_of(frame: RunFrame) -> float:
    """The longest step as a multiple of t."""
    return LONGEST_STRETCH if frame.drifts else np.inf


@njit(allocates=True)
def entered(frame: RunFrame, x: Array) -> Array:
    """The components of vectors in the frame."""
    d = x.shape[1]
    standard = True
    for r in range(d):
        for c in range(d):
            standard = standard and frame.basis[r, c] == (1.0 if r == c else 0.0)
    if standard:
        return x
    out = floats(x.shape)
    multiply(x, frame.basis, out)
    return out


@njit()
def steps_for(rate: float, t: float) -> float:
    """The least number of explicit steps of one head under post-norm, as in `settings.limits`."""
    return rate * t / STABLE_STEP


@njit()
def longest(rate: float, free: int, most: float) -> float:
    """The largest T for which `free` tokens take at most `most` steps, counted for each token."""
    low, high = -3.0, 60.0
    while high - low > 0.01:
        middle = (low + high) / 2
        if free * steps_for(rate, 10.0**middle) <= most:
            low = middle
        else:
            high = middle
    return 10.0**low
