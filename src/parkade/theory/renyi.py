"""Rényi's parking problem, and the expected number of Rényi centres on the circle.

Cars of length one park at random on a street of length x, each uniformly among the free
places, until no more fit. Their expected number M(x) is zero for x < 1 and satisfies

    M(x+1) = 1 + (2/x) ∫_0^x M(u) du,

since the first car leaves two independent streets (Rényi 1958). M(x) approaches
m·(x+1) − 1 faster than any exponential, where m is the parking constant.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.theory.ranges import like, separations

PARKING_CONSTANT = 0.7475979202534114
"""m = ∫_0^∞ exp(−2 ∫_0^t (1−e^{−u})/u du) dt, the occupied fraction of a long street."""

_LAST = 27  # from here on the asymptote is exact: its error is below (2e/x)^(x−3/2) ~ 1e-18
_DEGREE = 20  # each coefficient is about 1/7 of the previous one


@overload
def parking_function(x: float) -> float: ...
@overload
def parking_function(x: ArrayLike) -> Any: ...
def parking_function(x: ArrayLike) -> Any:
    """Rényi's M(x): the expected number of unit cars on a full street of length `x`.

    Parameters
    ----------
    x : float or array
        Lengths ≥ 0.

    Returns
    -------
    float or array, like `x`
        The relative error is below 1e-14. Uses closed forms for x < 4, Chebyshev
        interpolation of Rényi's integral equation up to 27, and the asymptote beyond.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.parking_function([0.5, 1.5, 3.0]).tolist()
    [0.0, 1.0, 2.0]
    >>> round(pk.theory.parking_function(1e6) / 1e6, 6)
    0.747598
    """
    length = check.array("x", x)
    if (length < 0).any():
        raise InputError(f"x must be a length ≥ 0, got {length.min():g}")
    u = np.atleast_1d(length)
    m = _asymptote(u)
    m[u < 1] = 0
    m[(u >= 1) & (u < 2)] = 1
    two = (u >= 2) & (u < 3)
    m[two] = 1 + 2 * (u[two] - 2) / (u[two] - 1)
    three = (u >= 3) & (u < 4)
    m[three] = 7 - (10 + 4 * np.log(u[three] - 2)) / (u[three] - 1)
    between = (u >= 4) & (u < _LAST)
    if between.any():
        whole = np.floor(u[between]).astype(int)
        m[between] += _evaluate(_pieces()[whole - 4], 2 * (u[between] - whole) - 1)
    return like(x, m.reshape(length.shape))


@overload
def expected_renyi_centers(delta: float) -> float: ...
@overload
def expected_renyi_centers(delta: ArrayLike) -> Any: ...
def expected_renyi_centers(delta: ArrayLike) -> Any:
    """The expected number of Rényi centres of infinitely many uniform tokens on the circle.

    The first token is a centre. The others must be farther than δ from it, so the next centre
    is uniform on an arc of length 2π − 2δ. So is the left end of a car of length δ that parks
    on a street of length 2π − δ, and the number is 1 + M(2π/δ − 1). At δ = π no second centre
    fits, and the number is 1.

    Parameters
    ----------
    delta : float or array
        The separation, an angle in (0, π].

    Examples
    --------
    >>> import parkade as pk
    >>> round(pk.theory.expected_renyi_centers(4 / 64**0.5), 4)  # Figure 2 of the paper
    9.3946
    """
    angle = separations("delta", delta, above_zero=True)
    with np.errstate(over="ignore"):
        streets = np.asarray(2 * math.pi / angle - 1)
    if not np.isfinite(streets).all():
        raise InputError(f"delta must be at least 1e-307, got {angle.min():g}")
    count = 1 + np.asarray(parking_function(streets))
    return like(delta, np.where(angle < math.pi, count, 1.0))


@cache
def _pieces() -> Array:
    """Chebyshev coefficients of M minus its asymptote on [4, 5], [5, 6], …, up to `_LAST`.

    The difference D is small, so its rounding errors do not affect M. The asymptote solves
    Rényi's equation as well, so D(x+1) = (2/x) ∫_0^x D.
    """
    from numpy.polynomial import chebyshev

    angles = (np.arange(_DEGREE + 1) + 0.5) * math.pi / (_DEGREE + 1)
    points = np.cos(angles)
    place = (points + 1) / 2  # mapped to [0, 1]
    basis = np.cos(np.outer(np.arange(_DEGREE + 1), angles))
    basis[0] /= 2
    transform = 2 / (_DEGREE + 1) * basis  # from values at the points to coefficients
    # ∫_0^3 M = 4 − 2 ln 2 by the closed forms, and the integral of the asymptote is 7.5m − 3.
    below = 7 - 2 * math.log(2) - 7.5 * PARKING_CONSTANT
    known = transform @ (parking_function(3 + place) - _asymptote(3 + place))
    pieces = []
    for k in range(3, _LAST - 1):
        # On [k+1, k+2]: D(x+1) = (2/x) (∫_0^k D + ∫_k^x D), with dx = ds/2.
        integral = chebyshev.chebint(known, lbnd=-1) / 2
        values = 2 * (below + chebyshev.chebval(points, integral)) / (k + place)
        below += float(chebyshev.chebval(1.0, integral))
        known = transform @ values
        pieces.append(known)
    return np.array(pieces)


def _asymptote(x: Array) -> Array:
    """The asymptote of M(x) for large x."""
    return PARKING_CONSTANT * (x + 1) - 1


def _evaluate(coefficients: Array, s: Array) -> Array:
    """Evaluate Chebyshev series, one row of coefficients for each argument."""
    from numpy.polynomial import chebyshev

    result: Array = np.sum(coefficients * chebyshev.chebvander(s, _DEGREE), axis=-1)
    return result
