"""The path of the first token, in closed form."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.constants import EPSILON
from parkade.base.errors import InputError, TrustWarning, doubts_matter
from parkade.base.types import Array
from parkade.model.spectrum import Complex, EigenvalueGroup, equal_values, spectrum
from parkade.model.sphere import normalize
from parkade.theory.digits import directions
from parkade.theory.ranges import one_token, square

_SKEWEST = 1e4
"""Eigenvectors with a larger condition number are not used: errors grow by this factor."""

_LATEST = 1e305
"""The largest |t|·‖V‖: beyond it exponents overflow."""

_SHORT = 100.0
"""Up to this |t|·‖V‖, eigenvalues of a nearly defective V are never made equal."""

_ROUNDING = 4 * EPSILON
"""Relative rounding error of the entries of V, for each of its rows."""

_KNOWN = 1e-6
"""A warning is issued where rounding of V moves the token by more than this."""

_LARGEST = 16
"""Up to this dimension, many digits are used where a sum over eigenvectors is not precise."""

_SIMPLE = 2.0
"""V counts as a multiple of the identity in a group up to a deviation of this·dε‖V‖."""

_BLOCK = (
    "V has a Jordan block up to rounding errors, which move the first token {}: it is the path of "
    "an exact block; choose smaller times, or a basis in which V is triangular"
)

_ROUNDED = (
    "Rounding errors of V move the first token {}; choose smaller times, or a basis in which V "
    "is triangular"
)


def first_token(V: ArrayLike, x1: ArrayLike, times: ArrayLike) -> Array:
    """The path of the first token: x(t) = e^{tV}x/|e^{tV}x| (Lemma 3.1).

    No token precedes it, so dx/dt = P_x(Vx) for any Q, K and β. It approaches the span of
    the eigenvectors whose eigenvalue has the largest real part.

    Parameters
    ----------
    V : (d, d) or (d,) array
        The value matrix; a vector means a diagonal one.
    x1 : (d,) array
        The start of the first token, a unit vector.
    times : (T,) array
        Any times, negative ones included.

    Returns
    -------
    (T, d) array of unit vectors.

    Warns
    -----
    TrustWarning
        If rounding errors of V move the token by more than 1e-6 at some of the times, where the
        path cannot be known. Up to such errors, V has a Jordan block, or equal eigenvalues and
        others very close; or it has more than 16 rows.

    Notes
    -----
    If V has well-conditioned eigenvectors (condition number κ < 1e4), the path is a sum over
    them, at the times at which rounding errors of V, 4dε‖V‖, move it by at most 1e-6.
    Otherwise, and for exact or near Jordan blocks, it is computed with as many digits as
    necessary.

    The eigenvalues of a triangular V are its diagonal entries, and equal only if these are. Those
    of another V are made equal where rounding errors of V could have split them, by 1e-16, or by
    1e-16^{1/k} in a block of size k: the effect of a split would grow with time. If V differs
    from a multiple of the identity there by at most 2dε‖V‖, it counts as one, and this part of
    the token keeps its direction forever. Otherwise it is a block, however weak, and the path in
    it is a polynomial in t, after |t| = 100/‖V‖.

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
    modes, groups = _decompose(m, x, norm)
    if modes is None:
        return _by_blocks(m, x, t, norm, groups)
    return _by_modes(m, x, t, norm, modes)


class _Modes(NamedTuple):
    """e^{tV}x as a sum of parts, each of which grows or turns at its own rate."""

    rates: Complex
    parts: list[Complex]
    label: NDArray[np.int64]  # the same for equal rates
    kappa: Array  # condition numbers
    merged: bool  # whether some rates count as equal


def _is_triangular(m: Array) -> bool:
    """Whether V is triangular, so that its eigenvalues are known exactly."""
    return np.array_equal(m, np.triu(m)) or np.array_equal(m, np.tril(m))


def _decompose(m: Array, x: Array, norm: float) -> tuple[_Modes | None, list[EigenvalueGroup]]:
    """The modes, None if V has a block or skew eigenvectors; and groups of equal eigenvalues."""
    triangular, symmetric = _is_triangular(m), np.array_equal(m, m.T)
    rounding = 0.0 if triangular else _ROUNDING * len(m)
    values, vectors = np.linalg.eigh(m) if symmetric else np.linalg.eig(m)
    label = np.arange(len(m), dtype=np.int64)
    skew = bool(np.linalg.cond(vectors) >= _SKEWEST)
    if not skew:
        inverse = np.linalg.inv(vectors)
        kappa = np.linalg.norm(vectors, axis=0) * np.linalg.norm(inverse, axis=1)
        label = equal_values(values.astype(np.complex128), kappa, norm, rounding)
    repeated = bool(label.max() + 1 < len(m))
    if not symmetric and (skew or repeated):
        # Eigenvectors of equal eigenvalues, and of a block, are those of rounding errors.
        if triangular:
            return None, []
        groups = spectrum(m, rounding, everything=True).groups
        if len(groups) < len(m):
            return _modes_of_groups(groups, x, norm), groups
        return None, groups
    means = np.bincount(label, values.real) / np.bincount(label)
    turns = np.where(np.abs(values.imag) > rounding * norm, values.imag, 0)
    parts = list((vectors * (inverse @ x)).astype(np.complex128).T)
    return _Modes(means[label] + 1j * turns, parts, label, kappa, repeated), []


def _modes_of_groups(groups: list[EigenvalueGroup], x: Array, norm: float) -> _Modes | None:
    """One mode for each group of eigenvalues; None if a group is a block, or they are skew."""
    kappa = np.array([np.linalg.norm(group.projection, 2) for group in groups])
    if kappa.max() >= _SKEWEST or not all(_is_multiple(one, norm, len(x)) for one in groups):
        return None
    parts = [group.projection @ x for group in groups]
    label = np.arange(len(groups), dtype=np.int64)
    return _Modes(_rates(groups), parts, label, kappa, merged=True)


def _by_modes(m: Array, x: Array, t: Array, norm: float, modes: _Modes) -> Array:
    """The path as a sum over modes, or with many digits where that is not precise enough."""
    path, size = _combine(t, modes.rates, [part[:, None] for part in modes.parts])
    if np.array_equal(m, np.diag(m.diagonal())):
        return path
    error = _ROUNDING * len(m) * norm
    moved = _moved(t, modes, size) * error
    doubtful = moved > _KNOWN
    if not _is_triangular(m) and (modes.merged or len(m) > _LARGEST):
        # Many digits would tell apart eigenvalues that count as equal, or take too long.
        late = doubtful & (np.abs(t) * error > _KNOWN)
        _warn_if_unknown(t[late], moved[late], _ROUNDED)
        doubtful &= ~late
    if doubtful.any():
        path[doubtful] = directions(m, x, t[doubtful])
    return path


def _by_blocks(m: Array, x: Array, t: Array, norm: float, groups: list[EigenvalueGroup]) -> Array:
    """The path with many digits; at late times, that of exact blocks."""
    path = directions(m, x, t)
    late = np.abs(t) * norm > _SHORT
    if late.any() and 0 < len(groups) < len(m):
        blocks, _ = _combine(t[late], _rates(groups), [_polynomial(one, x) for one in groups])
        _warn_if_unknown(t[late], np.abs(blocks - path[late]).max(axis=1), _BLOCK)
        path[late] = blocks
    return path


def _rates(groups: list[EigenvalueGroup]) -> Complex:
    """The eigenvalues, without imaginary rounding errors, which would turn the token in time."""
    values = np.array([group.value for group in groups])
    slack = [group.tolerance if group.size > 1 else 0.0 for group in groups]
    return np.where(np.abs(values.imag) > slack, values, values.real + 0j)


def _is_multiple(group: EigenvalueGroup, norm: float, d: int) -> bool:
    """Whether V is a multiple of the identity in a group, up to rounding errors, and no block."""
    if group.size == 1:
        return True
    slack = _SIMPLE * d * EPSILON * norm * float(np.linalg.norm(group.projection, 2))
    return float(np.linalg.norm(group.excess, 2)) <= slack


def _moved(t: Array, modes: _Modes, size: Array) -> Array:
    """How far errors E of V move the token, divided by ‖E‖, to first order.

    E moves e^{tV}x by Σ_ij f_ij P_i E P_j x, where P_i are the projections and f_ij is
    (e^{tλ_i} − e^{tλ_j})/(λ_i − λ_j), at most |t| times the larger of the two. Equal rates
    are exactly equal. A change of the length alone, by the leading term, does not count.
    """
    rates, parts, label, kappa, _ = modes
    lengths = np.array([np.linalg.norm(part) for part in parts])
    lead = np.where(t < 0, rates.real.min(), rates.real.max())
    log = (rates.real[:, None] - lead) * t
    gaps = np.abs(rates[:, None] - rates)
    moved = np.zeros(len(t))
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        main = (np.log(lengths)[:, None] + log).argmax(axis=0)
        for k in range(len(t)):
            both = np.maximum(log[:, k, None], log[:, k])
            f = np.exp(both - size[k]) * np.minimum(abs(t[k]), 2 / gaps)
            own = label == label[main[k]]
            if np.ptp(rates[own].imag) == 0 and rates[main[k]].imag == 0:
                f[np.ix_(own, own)] = 0
            moved[k] = np.nansum(f * kappa[:, None] * lengths)
    return moved


def _warn_if_unknown(t: Array, moved: Array, cause: str) -> None:
    """Warn if rounding errors move the token by too much."""
    unknown = np.abs(t[moved > _KNOWN])
    if unknown.size and doubts_matter():
        warnings.warn(
            cause.format(f"by more than {_KNOWN:g} from |t|={unknown.min():.3g} on"),
            TrustWarning,
            stacklevel=4,
        )


def _polynomial(group: EigenvalueGroup, x: Array) -> Complex:
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


def _combine(t: Array, rates: Complex, parts: list[Complex]) -> tuple[Array, Array]:
    """The direction of y = Re Σ_i e^{t·rate_i} Σ_j t^j part_ij at each time, without overflow.

    Also returns log|y| − t·max Re rate (min for t < 0).
    """
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
    y = np.einsum("it,itd->td", weights, np.array(terms)).real
    with np.errstate(divide="ignore"):
        whole = log.max(axis=0) + np.log(np.linalg.norm(y, axis=1))
    return normalize(y), whole
