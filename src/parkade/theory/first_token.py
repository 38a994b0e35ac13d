"""The path of the first token, in closed form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.constants import SNAP
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.spectrum import Complex, Group, equal_values, spectrum
from parkade.model.sphere import normalize
from parkade.theory.ranges import one_token, square

_SKEWEST = 1e4
"""Eigenvectors with a larger condition number are not used: errors grow by this factor."""

_LATEST = 1e305
"""The largest |t|·‖V‖: beyond it exponents overflow."""

_SHORT = 100.0
"""Up to this |t|·‖V‖ scaling and squaring is used."""


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

    Notes
    -----
    If V has well-conditioned eigenvectors (condition number κ < 1e4), the path is a sum over
    them, with an error of about 1e-16·κ·(1 + |t|·‖V‖), or 1e-16·κ once one term dominates.
    Otherwise (exact or near Jordan blocks) the matrix exponential is used up to
    |t| = 100/‖V‖, and the closed form with polynomials in t beyond.

    Eigenvalues that `final_configuration` treats as equal are made equal, except at the short
    times of Jordan blocks. Otherwise their rounding errors, 1e-16 or 1e-16^{1/k} in a block of
    size k, would grow with time. If they really differ, by less than about 1e-6 in a nearly
    defective V, this causes an error of up to 1e-6.

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
    values, vectors = np.linalg.eigh(m) if np.array_equal(m, m.T) else np.linalg.eig(m)
    if np.linalg.cond(vectors) < _SKEWEST:
        inverse = np.linalg.inv(vectors)
        kappa = np.linalg.norm(vectors, axis=0) * np.linalg.norm(inverse, axis=1)
        label = equal_values(values.astype(np.complex128), kappa, norm, SNAP)
        means = np.bincount(label, values.real) / np.bincount(label)
        parts = (vectors * (inverse @ x)).astype(np.complex128)
        rates = means[label] + 1j * np.where(np.abs(values.imag) > SNAP * norm, values.imag, 0)
        return _combine(t, rates, [parts[:, i : i + 1] for i in range(len(m))])
    short = np.abs(t) * norm <= _SHORT
    path = np.empty((len(t), len(m)))
    if short.any():
        from scipy.linalg import expm

        path[short] = normalize(expm(t[short, None, None] * m) @ x)
    if not short.all():
        groups = spectrum(m, SNAP, everything=True).groups
        rates = np.array([group.value for group in groups])
        path[~short] = _combine(t[~short], rates, [_polynomial(group, x) for group in groups])
    return path


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
