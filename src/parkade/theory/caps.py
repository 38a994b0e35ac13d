"""The expected number of strong Rényi centres, for uniform tokens and for samples of any law.

A strong Rényi centre is a token farther than δ from every earlier one. Among independent
tokens with law μ, token k is one with probability ∫ (1 − μ(B_δ(x)))^{k−1} dμ(x). Everything
here follows from that (Karagodin, Polyanskiy, Rigollet 2024, Lemma C.1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.chunks import chunks
from parkade.base.constants import SNAP
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.theory.final import final_configuration
from parkade.theory.ranges import like, separations

_CHUNK = 2**22  # distances held in memory at once


class Estimate(NamedTuple):
    """An estimate from a sample, and its standard error.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.uniform(2000, 2, seed=1)
    >>> count = pk.theory.expected_strong_centers_of_sample(x, 0.5, n=100)
    >>> abs(count.value - pk.theory.expected_strong_centers(0.5, d=2, n=100)) < 3 * count.error
    True
    """

    value: float
    error: float


@overload
def cap_fraction(delta: float, d: int) -> float: ...
@overload
def cap_fraction(delta: ArrayLike, d: int) -> Any: ...
def cap_fraction(delta: ArrayLike, d: int) -> Any:
    """The fraction σ(B_δ) of the sphere S^{d-1} within the angle δ of a point.

    σ = δ/π for d=2 and sin²(δ/2) for d=3 (the paper prints an extra factor 3). In general it is
    ½ I_{sin²δ}((d−1)/2, ½) for δ ≤ π/2, with the regularised incomplete beta function, and
    the complement of the opposite cap for larger δ.

    Parameters
    ----------
    delta : float or array
        Angles from 0 to π.
    d : int
        Dimension of the space around the sphere, d ≥ 2.

    Returns
    -------
    float or array, like `delta`
        Small fractions keep their relative precision (1e-13 at d=768).

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.cap_fraction(0.5, 2)  # 0.5 / π
    0.15915494309189535
    >>> pk.theory.cap_fraction([0.0, 3.141592653589793], 7).tolist()
    [0.0, 1.0]
    """
    angle = separations("delta", delta, above_zero=False)
    d = check.dimension(d)
    if d == 2:
        return like(delta, angle / math.pi)
    if d == 3:
        return like(delta, np.sin(angle / 2) ** 2)
    from scipy import special

    a = (d - 1) / 2
    near = np.minimum(angle, math.pi - angle)
    sine, cosine = np.sin(near) ** 2, np.cos(near) ** 2
    # I_x has an infinite slope at x = 1, so beyond π/4 use the complementary function.
    small = 0.5 * np.where(
        sine < cosine, special.betainc(a, 0.5, sine), special.betaincc(0.5, a, cosine)
    )
    return like(delta, np.where(angle <= math.pi / 2, small, 1 - small))


@overload
def expected_strong_centers(delta: float, d: int, n: int | None = None) -> float: ...
@overload
def expected_strong_centers(delta: ArrayLike, d: int, n: int | None = None) -> Any: ...
def expected_strong_centers(delta: ArrayLike, d: int, n: int | None = None) -> Any:
    """The expected number of strong Rényi centres of uniformly distributed tokens.

    It is Σ_{k=1}^{n} (1−σ)^{k−1} = (1 − (1−σ)^n)/σ for n tokens and 1/σ in the limit, with the
    fraction σ of a cap (Lemma C.1). With δ = cβ^{-1/2} it grows like β^{(d−1)/2}.

    Parameters
    ----------
    delta : float or array
        The separation, an angle in (0, π].
    d : int
    n : int, optional
        Number of tokens; None for the limit of infinitely many.

    Examples
    --------
    >>> import parkade as pk
    >>> round(pk.theory.expected_strong_centers(0.5, 2), 6)  # 2π
    6.283185
    >>> pk.theory.expected_strong_centers(0.5, 2, n=1)
    1.0
    """
    angle = separations("delta", delta, above_zero=True)
    share = np.asarray(cap_fraction(angle, d))
    with np.errstate(divide="ignore", invalid="ignore"):
        if n is None:
            return like(delta, 1 / share)
        n = check.positive_int("n", n)
        count = -np.expm1(n * np.log1p(-share)) / share
    # If the fraction underflows, every token is a centre.
    return like(delta, np.where(share > 0, count, float(n)))


def expected_strong_centers_of_sample(tokens: ArrayLike, delta: float, n: int) -> Estimate:
    """The expected number of strong Rényi centres of `n` tokens of any law.

    Estimates ∫ Σ_{k=1}^{n} (1 − μ(B_δ(x)))^{k−1} dμ(x) (Lemma C.1) from m > n independent
    `tokens` of the law μ. Let c be the number of other tokens within δ of token i. Averaged
    over all choices of k−1 other tokens, the probability that none of them is within δ of
    token i is C(m−1−c, k−1)/C(m−1, k−1). Summed over k, token i contributes ::

        ( m − (m−n) C(m−1−c, n)/C(m−1, n) ) / (c+1),

    and the estimate is the mean over i: the expected count if n of the tokens are drawn at
    random, without replacement. It is a U-statistic, so it is unbiased.

    Parameters
    ----------
    tokens : (m, d) array
        Independent draws of the law, m > n.
    delta : float
        The separation, an angle in (0, π].
    n : int
        Number of tokens. The limit n → ∞ is not supported: it would be the mean of 1/μ(B_δ),
        which no finite sample bounds, since rare regions count most.

    Returns
    -------
    Estimate
        `value`, and its standard `error` from the jackknife, whose square is not too small on
        average (Efron and Stein 1981). It is reliable if m is several times n.

    Notes
    -----
    Compares all pairs, in time of order m²·d.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.uniform(2000, 2, seed=1)
    >>> value, error = pk.theory.expected_strong_centers_of_sample(x, 0.5, n=100)
    >>> abs(value - pk.theory.expected_strong_centers(0.5, 2, n=100)) < 4 * error
    True
    """
    x = check.tokens(tokens)
    angle = float(separations("delta", check.number("delta", delta), above_zero=True))
    n = check.positive_int("n", n)
    m = len(x)
    if m <= n:
        raise InputError(
            f"the sample must be larger than n to estimate the count of n tokens, got {m} tokens "
            f"and n={n}; give more tokens or a smaller n"
        )
    counts = np.concatenate([near.sum(axis=1) for _, near in _balls(x, angle)])
    value = float(_contributions(m, n)[counts].mean())
    # Without token i, each of its neighbours has one neighbour less.
    reduced = _contributions(m - 1, n)
    alike = reduced[np.minimum(counts, m - 2)]
    change = np.where(counts > 0, reduced[np.maximum(counts, 1) - 1] - alike, 0.0)
    without = np.empty(m)
    for rows, near in _balls(x, angle):
        without[rows] = (alike.sum() - alike[rows] + near @ change) / (m - 1)
    spread = float(np.sum((without - without.mean()) ** 2))
    return Estimate(value, math.sqrt((m - 1) / m * spread))


def effective_exponent(V: ArrayLike, *, tol: float = SNAP) -> float:
    """The conjectured exponent of β in the number of metastable clusters: (d₁−1)/2.

    Tokens first collapse onto the span of the d₁ leading eigenvectors of V and then cluster
    as in that dimension (Karagodin, Polyanskiy, Rigollet 2024, section 5; a conjecture).

    Parameters
    ----------
    V : (d, d) or (d,) array
    tol : float
        The tolerance within which eigenvalues count as equal: see `final_configuration`.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.effective_exponent([1, 1, 1, 0.2])
    1.0
    """
    final = final_configuration(V, tol=tol)
    if final.kind in ("one point", "two points", "rotation"):
        return (final.dim - 1) / 2
    raise InputError(
        "the exponent is conjectured for V that attracts, with a leading eigenvalue that has a "
        f"positive real part and its full number of eigenvectors, but {final.sentence}"
    )


def _balls(x: Array, angle: float) -> Any:
    """For each chunk of rows: a slice, and which *other* tokens are within `angle`."""
    from scipy.spatial.distance import cdist

    chord = 2 * math.sin(angle / 2)
    for rows in chunks(len(x), len(x), _CHUNK):
        near: NDArray[np.bool_] = cdist(x[rows], x) <= chord
        near[np.arange(near.shape[0]), np.arange(rows.start, rows.stop)] = False
        yield rows, near


def _contributions(m: int, n: int) -> Array:
    """The contribution of a token with c = 0, 1, …, m−1 others within δ, for m ≥ n."""
    c = np.arange(m)
    # C(m−1−c, n)/C(m−1, n) = Π_{i<c} (1 − n/(m−1−i)), zero from the first zero factor on.
    ratio = np.ones(m)
    ratio[1:] = np.cumprod(np.maximum(0.0, 1 - n / np.arange(m - 1, 0, -1)))
    total: Array = (m - (m - n) * ratio) / (c + 1)
    return total
