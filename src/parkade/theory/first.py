"""The path of the first token, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from parkade import check
from parkade.errors import InputError
from parkade.sphere import normalize
from parkade.theory.ranges import one_token, square
from parkade.types import Array

_SKEWEST = 1e4
"""Eigenvectors with a larger condition number are not used: errors grow by this factor."""


def first_token(V: ArrayLike, x1: ArrayLike, times: ArrayLike) -> Array:
    """Where the first token is: x(t) = e^{tV}x/|e^{tV}x| (Lemma 3.1).

    Nobody precedes it, so dx/dt = P_x(Vx), whatever Q, K and β. It approaches the span of
    the eigenvectors whose eigenvalue has the largest real part.

    Parameters
    ----------
    V : (d, d) or (d,) array
        The value matrix; a vector stands for a diagonal one.
    x1 : (d,) array
        Its start, a unit vector.
    times : (T,) array
        Any times, also negative ones.

    Returns
    -------
    (T, d) array of unit vectors.

    Notes
    -----
    Where V has well-conditioned eigenvectors (condition number κ < 1e4), it is a sum over
    them, with an error of about 1e-16·κ·(1 + |t|·‖V‖), and not more than 1e-16·κ where an
    eigenvalue has prevailed. For large t that is the error in V itself, since equal
    eigenvalues that rounding makes differ by 1e-16 differ in effect after t = 1e16.
    Otherwise (Jordan blocks) scaling and squaring gives the exponential, with an error that
    also grows like t·1e-16, and an error is raised where it cannot be represented.

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
    values, vectors = np.linalg.eigh(m) if np.array_equal(m, m.T) else np.linalg.eig(m)
    if np.linalg.cond(vectors) < _SKEWEST:
        parts = np.linalg.solve(vectors, x.astype(vectors.dtype))
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(parts)) + np.multiply.outer(t, values.real)
        # Only the ratios of the parts matter: the largest becomes one, at each time.
        size -= size.max(axis=1, keepdims=True)
        phase = np.exp(1j * np.multiply.outer(t, values.imag)) if np.iscomplexobj(values) else 1.0
        signs = parts / np.where(parts == 0, 1, np.abs(parts))
        return normalize(((np.exp(size) * phase * signs) @ vectors.T).real)
    from scipy.linalg import expm

    shifted = np.stack([s * m - (s * values.real).max() * np.eye(len(m)) for s in t])
    with np.errstate(over="ignore", invalid="ignore"):
        path = expm(shifted) @ x
    lost = ~np.isfinite(path).all(axis=1) | ~path.any(axis=1)
    if lost.any():
        raise InputError(
            f"the first token at t={t[lost][0]:g} is beyond double precision, V being too far "
            "from diagonalisable; ask for earlier times"
        )
    return normalize(path)
