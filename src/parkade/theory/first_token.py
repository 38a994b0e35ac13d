"""The path of the first token, in closed form."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.constants import EPSILON
from parkade.base.errors import InputError, TrustWarning, doubts_matter
from parkade.base.types import Array
from parkade.model.spectrum import Complex, Group, equal_values, spectrum
from parkade.model.sphere import normalize
from parkade.theory.digits import directions
from parkade.theory.ranges import one_token, square

_SKEWEST = 1e4
"""Eigenvectors with a larger condition number are not used: errors grow by this factor."""

_LATEST = 1e305
"""The largest |t|·‖V‖: beyond it exponents overflow."""

_SHORT = 100.0
"""Up to this |t|·‖V‖ eigenvalues of a nearly defective V are never made equal."""

_ROUNDING = 4 * EPSILON
"""Relative rounding error of the entries of V, for each of its rows."""

_KNOWN = 1e-6
"""Where rounding of V moves the token by more than this, a warning says so."""


def first_token(V: ArrayLike, x1: ArrayLike, times: ArrayLike) -> Array:
    """The path of the first token: x(t) = e^{tV}x/|e^{tV}x| (Lemma 3.1).

    No token precedes it, so dx/dt = P_x(Vx) for any Q, K and β. It approaches the span of
    the eigenvectors whose eigenvalue has the largest real part.

    Parameters
    ----------
    V : (d, d) or (d,) array
        The value matrix; a vector means a diagonal one.
    x1 : (d,) array
        Its start, a unit vector.
    times : (T,) array
        Any times, negative ones included.

    Returns
    -------
    (T, d) array of unit vectors.

    Warns
    -----
    TrustWarning
        If V has a Jordan block up to rounding errors, and they move the token by more than 1e-6 at
        some of the times: the path cannot be known there.

    Notes
    -----
    If V has well-conditioned eigenvectors (condition number κ < 1e4), the path is a sum over
    them, with an error of about 1e-16·κ·(1 + |t|·‖V‖), or 1e-16·κ once one term dominates.
    Otherwise (exact or near Jordan blocks) it is computed with as many digits as that takes.

    The eigenvalues of a triangular V are the numbers on its diagonal, and equal only if these
    are. Those of another V are made equal where rounding errors of V, 4dε‖V‖, could have split
    them: by 1e-16, or by 1e-16^{1/k} in a block of size k. Otherwise this would grow with time.
    The path in such a block is a polynomial in t, after |t| = 100/‖V‖.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.first_token([2, 1], [0.6, 0.8], [0.0, 1.0, 1e9]).round(3).tolist()
    [[0.6, 0.8], [0.898, 0.44], [1.0, 0.0]]
    """
    m = square("V", V)
    x = one_token("x1", x1, len(m))
    t = check.array("times", times)
    if t.ndim != 1:
        raise InputError(f"times must be a 1-D array, got shape {t.shape}; pass a list of times")
    norm = float(np.linalg.norm(m, 2))
    latest = float(np.abs(t).max(initial=0.0))
    if norm > 0 and latest > _LATEST / max(norm, 1.0):
        raise InputError(
            f"times must have |t|·‖V‖ ≤ {_LATEST:g}, got t={latest:g} and ‖V‖={norm:g}; "
            "choose smaller times"
        )
    exact = np.array_equal(m, np.triu(m)) or np.array_equal(m, np.tril(m))
    rounding = 0.0 if exact else _ROUNDING * len(m)
    values, vectors = np.linalg.eigh(m) if np.array_equal(m, m.T) else np.linalg.eig(m)
    if np.linalg.cond(vectors) < _SKEWEST:
        inverse = np.linalg.inv(vectors)
        kappa = np.linalg.norm(vectors, axis=0) * np.linalg.norm(inverse, axis=1)
        label = equal_values(values.astype(np.complex128), kappa, norm, rounding)
        means = np.bincount(label, values.real) / np.bincount(label)
        parts = (vectors * (inverse @ x)).astype(np.complex128)
        turns = np.where(np.abs(values.imag) > rounding * norm, values.imag, 0)
        return _combine(t, means[label] + 1j * turns, [parts[:, i : i + 1] for i in range(len(m))])
    path = directions(m, x, t)
    late = np.abs(t) * norm > _SHORT
    if not exact and late.any():
        groups = spectrum(m, rounding, everything=True).groups
        if len(groups) < len(m):
            rates = np.array([group.value for group in groups])
            blocks = _combine(t[late], rates, [_polynomial(group, x) for group in groups])
            _say_if_unknown(t[late], np.abs(blocks - path[late]).max(axis=1))
            path[late] = blocks
    return path


def _say_if_unknown(t: Array, moved: Array) -> None:
    """Warn if rounding errors in a Jordan block move the token by too much."""
    unknown = np.abs(t[moved > _KNOWN])
    if unknown.size and doubts_matter():
        warnings.warn(
            "V has a Jordan block up to rounding errors, which move the first token by more than "
            f"{_KNOWN:g} from |t|={unknown.min():.3g} on: it is the path of an exact block; "
            "choose smaller times, or a basis in which V is triangular",
            TrustWarning,
            stacklevel=3,
        )


def _polynomial(group: Group, x: Array) -> Complex:
    """Columns v_0, v_1, … with e^{t(V−λI)}Px = Σ_j t^j v_j, P the projection onto the group."""
    v = group.frame.conj().T @ (group.projection @ x)
    columns, power = [v], group.excess
    for j in range(1, group.size):
        # Powers of a nilpotent matrix become zero; in floating point, rounding errors.
        if np.linalg.norm(power, 2) <= group.tolerance * np.linalg.norm(group.excess, 2) ** (j - 1):
            break
        columns.append(power @ v / math.factorial(j))
        power = power @ group.excess
    polynomial: Complex = group.frame @ np.stack(columns, axis=1)
    return polynomial


def _combine(t: Array, rates: Complex, parts: list[Complex]) -> Array:
    """The direction of Re Σ_i e^{t·rate_i} Σ_j t^j part_ij at each time, without overflow."""
    terms, sizes = [], []
    for rate, part in zip(rates, parts, strict=True):
        j = np.arange(part.shape[1])
        # Powers relative to the highest one, or to the lowest for |t| < 1.
        top = np.where(np.abs(t) > 1, j[-1], 0)
        scale = np.where(t == 0, 1.0, np.abs(t))
        with np.errstate(under="ignore"):
            powers = scale[:, None] ** (j - top[:, None]) * np.sign(t)[:, None] ** j
        powers[t == 0] = j == 0
        term = powers @ part.T
        size = np.linalg.norm(term, axis=1)
        terms.append(
            term * np.exp(1j * t * rate.imag)[:, None] / np.where(size > 0, size, 1)[:, None]
        )
        with np.errstate(divide="ignore"):
            sizes.append(np.log(size) + top * np.log(scale))
    # Only the ratios of the terms matter: scale the largest to one at each time. Rates are
    # subtracted before the multiplication by t, so that equal ones cancel exactly.
    leading = np.where(t < 0, rates.real.min(), rates.real.max())
    log = np.array(sizes) + (rates.real[:, None] - leading) * t
    weights = np.exp(log - log.max(axis=0))
    return normalize(np.einsum("it,itd->td", weights, np.array(terms)).real)
