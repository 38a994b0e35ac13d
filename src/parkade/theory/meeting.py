"""How long a token takes to reach a cluster that stands still: T(φ, m)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.theory.ranges import non_negative, separations

FORMING_TIME = 10.0
"""The time within which clusters form, roughly, if V = I."""

_LARGE = 50.0  # from here on asymptotic series are exact to rounding
_TERMS = 30


def cluster_radius(sharpness: float, thermal: float = 0.0) -> float:
    """The default radius of a cluster: a tenth of the range of attention, which is at most 1.

    With noise it is the `thermal` radius if that is larger, but not more than the range.

    Examples
    --------
    >>> from parkade.theory.meeting import cluster_radius
    >>> cluster_radius(64.0), cluster_radius(64.0, 0.04)
    (0.0125, 0.04)
    """
    root = math.sqrt(max(1.0, sharpness))
    return min(max(0.1 / root, thermal), 1 / root)


def thermal_radius(d: int, temperature: float, rate: float) -> float:
    """Twice the root mean square distance of two tokens of a cluster with noise.

    The second of two tokens on the sphere of R^d, which attends to both equally, follows the first
    at half the `rate` of attraction. Brownian motions of both at the `temperature` 1/κ give each
    of the d−1 components u of its distance the law du = −(rate/2) u dt + √(4/κ) dW, which has
    the variance 4/(κ rate). In a larger cluster a token follows faster, and the others lie
    between.

    Examples
    --------
    >>> from parkade.theory.meeting import thermal_radius
    >>> thermal_radius(2, 1 / 400, 1.0)
    0.2
    """
    return 4 * math.sqrt((d - 1) * temperature / rate) if rate > 0 else math.inf


def log_meeting_time(
    angle: ArrayLike, beta: float, mass: float = 1.0, *, radius: float | None = None
) -> Array:
    r"""The logarithm of the time in which a token reaches `mass` earlier tokens.

    These are together at a distance `angle` and stand still; Q = K = V = I. The token, which
    attends only to them and itself, moves by dφ/dt = −w sin φ/(1 + w), w = m e^{−β(1−cos φ)}, so ::

        T(φ, m) = ∫_r^φ [e^{β(1−cos p)}/m + 1] / sin p dp ≈ e^{β(1−cos φ)} / (m β sin²φ).

    The integral is computed as a sum of exponential integrals.

    Parameters
    ----------
    angle : float or array
        The distance φ at the start, from 0 to π. Opposite tokens never meet.
    beta : float
        Inverse temperature ≥ 0.
    mass : float
        m ≥ 1, the number of tokens that attract.
    radius : float, optional
        The distance r at which tokens have met; `clusters.default_radius` by default. It hardly
        matters if the angle is large.

    Returns
    -------
    array of the shape of `angle`
        ln T; −∞ where the angle is within the radius.

    Examples
    --------
    >>> import parkade as pk
    >>> round(float(pk.theory.log_meeting_time(1.0, 64.0)), 4)
    25.6325
    """
    phi = separations("angle", angle, above_zero=False)
    beta = non_negative("beta", beta)
    m = check.number("mass", mass)
    if not m >= 1:
        raise InputError(f"mass must be ≥ 1, got {m:g}; it is a number of tokens")
    r = cluster_radius(beta) if radius is None else check.positive("radius", radius)
    slow, fast = log_integrals(np.maximum(phi, r), beta, r)
    together = phi <= r  # where the integrals, which are 0, are rounding errors
    result: Array = np.logaddexp(
        np.where(together, -np.inf, slow - math.log(m)), np.where(together, -np.inf, fast)
    )
    return result


def log_integrals(phi: Array, beta: float, r: float) -> tuple[Array, Array]:
    """The logarithms of ∫_r^φ e^{β(1−cos p)}/sin p dp and of this integral for β = 0; φ ≥ r."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fast = np.log(np.log(np.tan(phi / 2) / math.tan(r / 2)))
        fast = np.where(phi >= math.pi, np.inf, fast)
        if beta == 0:
            return fast, fast
        # With u = 1 − cos p the integrand is e^{βu} [1/u + 1/(2 − u)] / 2.
        u, low = 2 * np.sin(phi / 2) ** 2, 2 * math.sin(r / 2) ** 2
        far = 2 * np.cos(phi / 2) ** 2  # 2 − u, without cancellation
        faded = np.exp(beta * (low - u))
        first = _scaled_ei(beta * u) - faded * _scaled_ei(beta * low)
        second = _scaled_e1(beta * far) - faded * _scaled_e1(beta * (2 - low))
        return beta * u + np.log((first + second) / 2), fast


def _scaled_ei(x: ArrayLike) -> Array:
    """The exponential integral Ei(x), times exp(−x)."""
    from scipy.special import expi

    value = np.asarray(x, dtype=float)
    small = np.minimum(value, _LARGE)
    result: Array = np.where(
        value < _LARGE, np.exp(-small) * expi(small), _series(np.maximum(value, _LARGE), 1.0)
    )
    return result


def _scaled_e1(x: ArrayLike) -> Array:
    """The exponential integral E₁(x), times exp(x)."""
    from scipy.special import exp1

    value = np.asarray(x, dtype=float)
    small = np.minimum(value, _LARGE)
    result: Array = np.where(
        value < _LARGE, np.exp(small) * exp1(small), _series(np.maximum(value, _LARGE), -1.0)
    )
    return result


def _series(x: Array, sign: float) -> Array:
    """Σ k! (±1/x)^k / x, for large x (DLMF 6.12)."""
    term, total = 1 / x, np.zeros_like(x)
    for k in range(_TERMS):
        total = total + term
        term = term * sign * (k + 1) / x
    return total
