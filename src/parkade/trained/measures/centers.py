"""Centres of a cloud in the order of the text, reversed, and in any order.

For strong centres the mean over all orders is known in closed form. A token is a strong centre if
it comes first among itself and its neighbours, which has the probability 1/(1 + deg) (Lemma C.1 of
arXiv 2411.04990, on the empirical law of the cloud).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.analysis.centers import KINDS
from parkade.base import check
from parkade.base.types import Array, Seed
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.prepare import directions

Kind: TypeAlias = Literal["renyi", "strong"]


@dataclass(frozen=True)
class Count:
    """Numbers of centres of one cloud.

    Attributes
    ----------
    forward, reversed : int
        In the order of the text, and in the reversed order.
    permuted : float
        The mean over all orders: exact for strong centres, over draws for Rényi's.
    spread : float
        The standard deviation over orders.
    delta : float
        The distance δ.
    """

    forward: int
    reversed: int
    permuted: float
    spread: float
    delta: float


def neighbours(tokens: ArrayLike, delta: float) -> NDArray[np.bool_]:
    """Which different tokens are at most `delta` apart, as a symmetric (n, n) matrix.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.trained.measures import neighbours
    >>> neighbours(pk.sphere.from_angles([0.0, 0.3, 2.0]), 0.5).sum(axis=1).tolist()
    [1, 1, 0]
    """
    x = check.tokens(tokens)
    near: NDArray[np.bool_] = _squares(x) <= _chord(delta) ** 2
    np.fill_diagonal(near, False)
    return near


def expected_strong(near: NDArray[np.bool_]) -> float:
    """The mean number of strong centres over all orders of a cloud: Σ 1/(1 + deg_i), exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import expected_strong
    >>> expected_strong(np.eye(4)[[1, 0, 3, 2]] > 0)  # two pairs of neighbours
    2.0
    """
    return float(np.sum(1.0 / (1.0 + near.sum(axis=1))))


def spread_strong(near: NDArray[np.bool_]) -> float:
    """The standard deviation of the number of strong centres over all orders, exactly.

    Two tokens that are not neighbours, with a and b tokens in their closed neighbourhoods and u in
    both together, are both strong with the probability (1/a + 1/b)/u: one of the two comes first
    of all u, and the other is first in its own neighbourhood. Neighbours are never both strong.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import spread_strong
    >>> spread_strong(np.eye(4)[[1, 0, 3, 2]] > 0)  # always one of each pair
    0.0
    """
    closed = near | np.eye(len(near), dtype=bool)
    size = closed.sum(axis=1).astype(np.float64)
    shared = closed.astype(np.float64) @ closed
    union = size[:, None] + size - shared
    both = np.where(closed, 0.0, (1 / size[:, None] + 1 / size) / union)
    mean = np.sum(1 / size)
    return math.sqrt(max(0.0, float(both.sum() + mean - mean**2)))


def half_radius(tokens: ArrayLike) -> float:
    """The distance δ at which half of the tokens are strong centres on average over orders.

    It sets δ by the cloud itself, so that clouds of any concentration can be compared: a count in
    the order of the text is to be compared with n/2.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.trained.measures import expected_strong, half_radius, neighbours
    >>> x = pk.sphere.uniform(100, 3, seed=1)
    >>> round(expected_strong(neighbours(x, half_radius(x))))
    50
    """
    x = check.tokens(tokens)
    squares = _squares(x)
    np.fill_diagonal(squares, np.inf)
    # Bisection over the squared chords of pairs: the count changes only there.
    values = np.unique(squares[np.isfinite(squares)])
    low, high = -1, len(values) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if expected_strong(squares <= values[middle]) > len(x) / 2:
            low = middle
        else:
            high = middle
    return 2 * math.asin(min(1.0, math.sqrt(float(values[high])) / 2))


def count(
    tokens: ArrayLike,
    delta: float | None = None,
    *,
    kind: Kind = "strong",
    draws: int = 20,
    seed: Seed = 0,
) -> Count:
    """Centres of one cloud forward, reversed and permuted; δ is `half_radius` by default."""
    x = check.tokens(tokens)
    find = KINDS[check.choice("kind", kind, ("renyi", "strong"))]
    # A margin: pairs at δ itself are neighbours in spite of rounding.
    delta = half_radius(x) * (1 + 1e-9) if delta is None else check.number("delta", delta)
    if kind == "strong":
        near = neighbours(x, delta)
        mean, spread = expected_strong(near), spread_strong(near)
    else:
        rng = check.generator(seed)
        counts = [len(find(x[rng.permutation(len(x))], delta)) for _ in range(draws)]
        mean, spread = float(np.mean(counts)), float(np.std(counts))
    return Count(len(find(x, delta)), len(find(x[::-1], delta)), mean, spread, delta)


def center_counts(
    texts: Sequence[ArrayLike],
    *,
    kind: Kind = "strong",
    delta: float | None = None,
    draws: int = 20,
    seed: Seed = 0,
) -> Measured:
    """The share of tokens that are centres, in each layer of each text.

    Parameters
    ----------
    texts : sequence of (L+1, n, d) arrays
        Hidden states; only their directions count.
    kind : "strong" or "renyi"
    delta : float, optional
        An angle; `half_radius` of each cloud by default.
    draws : int
        Orders drawn for the null of Rényi centres; that of strong ones is exact.
    seed : int, numpy.random.Generator or None

    Returns
    -------
    Measured
        The nulls are "reversed" and "permuted" orders of the same tokens. Text is local: tokens
        that are near in the text are near in space, so there are fewer centres than in a random
        order, in both directions. Without a difference from "reversed" this says nothing about
        *early* tokens; `earlier_pull` tells more.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import center_counts
    >>> states = np.random.default_rng(0).standard_normal((3, 2, 40, 8))
    >>> counts = center_counts(states)
    >>> counts.values.shape, counts.null_mean("permuted").round(1).tolist()
    ((3, 2), [0.5, 0.5])
    """
    rng = check.generator(seed)
    rows: list[Array] = []
    for hidden in texts:
        x = directions(check.array("hidden", hidden))
        counts = [count(layer, delta, kind=kind, draws=draws, seed=rng) for layer in x]
        rows.append(np.array([(c.forward, c.reversed, c.permuted) for c in counts]) / x.shape[1])
    forward, backward, permuted = np.moveaxis(np.array(rows), 2, 0)
    name = f"share of {'strong' if kind == 'strong' else 'Rényi'} centres"
    return Measured(name, forward, {"reversed": backward, "permuted": permuted})


def _squares(x: Array) -> Array:
    """Squared chords of all pairs, from differences, so that they are accurate for close tokens."""
    from scipy.spatial.distance import cdist

    squares: Array = cdist(x, x, "sqeuclidean")
    return squares


def _chord(delta: float) -> float:
    return 2 * math.sin(min(check.number("delta", delta), math.pi) / 2)
