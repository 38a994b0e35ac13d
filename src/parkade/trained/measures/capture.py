"""Tests of who moves to whom: what predicts the place of a token deeper in the network."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array, Seed
from parkade.theory.parking import renyi_centers
from parkade.trained.measures.centers import half_radius
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.prepare import directions

CAPTURE_RULES = {
    "centre": "the nearest earlier Rényi centre",
    "token": "the nearest earlier token",
    "matched": "an earlier token that is no centre, as far away as the centre",
    "previous": "the token before it in the text",
    "random": "any earlier token",
}
"""The rules by which an earlier token is named for each token."""

EQUAL = 1e-9
"""Tokens are equal if one minus their cosine is below this."""

ALIKE = 0.1
"""Largest relative difference of the distances of the matched token and of the centre."""


def capture(
    texts: Sequence[ArrayLike],
    *,
    start: int = 0,
    end: int = -1,
    delta: float | None = None,
    seed: Seed = 0,
) -> Measured:
    """How well the nearest earlier *centre* predicts the company of a token at the end.

    A rule names an earlier token for each token by the states in layer `start`. Its error is the
    share of all earlier tokens that are nearer in layer `end`: 0 is a perfect prediction, 1/2 that
    of a random one. Centres are left out, and tokens without a matched one.

    Parameters
    ----------
    texts : sequence of (L+1, n, d) arrays
        Hidden states; only their directions count.
    start, end : int
        Layers.
    delta : float, optional
        The distance δ of centres; `half_radius` of each cloud by default.
    seed : int, numpy.random.Generator or None

    Returns
    -------
    Measured
        The error of the rule "centre", (texts,), beside the other `CAPTURE_RULES` as nulls. "token"
        is nearer at the start than the centre. "matched" is as far away, so it tells whether being
        a centre matters. Texts without tokens that can be judged are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import capture
    >>> states = np.random.default_rng(0).standard_normal((3, 2, 60, 3))
    >>> errors = capture(states)
    >>> errors.values.shape, sorted(errors.nulls)
    ((3,), ['matched', 'previous', 'random', 'token'])
    """
    rng = check.generator(seed)
    rows: list[dict[str, float]] = []
    for hidden in texts:
        x = directions(check.array("hidden", hidden))
        before, after = 1 - x[start] @ x[start].T, 1 - x[end] @ x[end].T
        before[before < EQUAL] = 0.0  # a word that comes again is equal, not near by rounding
        d = half_radius(x[start]) * (1 + 1e-9) if delta is None else delta
        centers = renyi_centers(x[start], d)
        errors = [_errors(before, after, centers, k, rng) for k in range(2, len(before))]
        known = [one for one in errors if one]
        if not known:
            continue  # a short text
        rows.append({rule: float(np.mean([one[rule] for one in known])) for rule in CAPTURE_RULES})
    if not rows:
        raise InputError(
            "capture needs tokens that are no centres, got none in any text; use longer texts or a "
            "larger delta"
        )
    columns = {rule: np.array([row[rule] for row in rows]) for rule in CAPTURE_RULES}
    return Measured("error of the nearest earlier centre", columns.pop("centre"), columns)


def _errors(
    before: Array, after: Array, centers: NDArray[np.int64], k: int, rng: np.random.Generator
) -> dict[str, float]:
    """The error of each rule for token k; empty if it is a centre or has no matched token."""
    led = centers[centers < k]
    if k in centers or len(led) == k:
        return {}
    center = int(led[np.argmin(before[k, led])])
    plain = np.setdiff1d(np.arange(k), led)
    gaps = np.abs(before[k, plain] - before[k, center])
    if gaps.min() > ALIKE * before[k, center]:
        return {}
    named = {
        "centre": center,
        "token": int(np.argmin(before[k, :k])),
        "matched": int(plain[np.argmin(gaps)]),
        "previous": k - 1,
    }
    nearer = {
        rule: float(np.sum(after[k, :k] < after[k, j])) / (k - 1) for rule, j in named.items()
    }
    nearer["random"] = float(np.mean(after[k, :k] < after[k, rng.integers(k)])) * k / (k - 1)
    return nearer


def pulls(before: ArrayLike, after: ArrayLike) -> Array:
    """Cosines between the move of each token and the direction to each other one.

    Parameters
    ----------
    before, after : (n, d) arrays
        Unit vectors: the same tokens in two layers.

    Returns
    -------
    (n, n) array
        Row k: how far token k moves to token j on the sphere, from −1 to 1. The diagonal is 0, and
        so are rows of tokens that do not move.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.trained.measures import pulls
    >>> circle = pk.sphere.from_angles
    >>> pulls(circle([0.0, 1.0]), circle([0.0, 0.5])).round(3).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    x, y = check.tokens(before), check.tokens(after)
    if x.shape != y.shape:
        raise InputError(f"before and after must have one shape, got {x.shape} and {y.shape}")
    return pulls_of(x, y, x @ x.T)


def pulls_of(x: Array, y: Array, cosine: Array) -> Array:
    """`pulls` of unit vectors x to y, with the cosines of all pairs of x."""
    move = y - np.sum(x * y, axis=1, keepdims=True) * x
    # ⟨move_k, x_j − ⟨x_k,x_j⟩ x_k⟩ = ⟨move_k, x_j⟩: the move is tangent.
    size = np.linalg.norm(move, axis=1, keepdims=True) * np.sqrt(np.maximum(1 - cosine**2, 0))
    result: Array = np.divide(move @ x.T, size, out=np.zeros_like(size), where=size > 1e-12)
    np.fill_diagonal(result, 0.0)
    return result


def earlier_pull(texts: Sequence[ArrayLike]) -> Measured:
    """Whether tokens move to earlier tokens rather than to later ones, in each layer of each text.

    Returns
    -------
    Measured
        The mean of `pulls` over earlier tokens, (texts, L). The null "later" is the mean over
        later tokens: the same text read backwards.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import earlier_pull
    >>> states = np.random.default_rng(0).standard_normal((3, 4, 40, 8))
    >>> earlier_pull(states).values.shape
    (3, 3)
    """
    earlier, later = [], []
    for hidden in texts:
        x = directions(check.array("hidden", hidden))
        below = np.tril_indices(x.shape[1], -1)
        layers = [pulls(a, b) for a, b in itertools.pairwise(x)]
        earlier.append([p[below].mean() for p in layers])
        later.append([p.T[below].mean() for p in layers])
    return Measured("pull of earlier tokens", np.array(earlier), {"later": np.array(later)})
