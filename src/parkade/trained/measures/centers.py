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

from parkade.base import check
from parkade.base.types import Array, Seed
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.prepare import directions

Kind: TypeAlias = Literal["renyi", "strong"]


NEAR = 1e-4
"""Squared chords below this would lose digits if they came from cosines."""

MARGIN = 1 + 1e-9
"""What a half radius is multiplied by: pairs at δ itself are neighbours in spite of rounding."""


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
    return _within(squares_of(check.tokens(tokens)), check.number("delta", delta))


def _within(squares: Array, delta: float) -> NDArray[np.bool_]:
    near: NDArray[np.bool_] = squares <= (2 * math.sin(min(delta, math.pi) / 2)) ** 2
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
    return half_radius_of(squares_of(check.tokens(tokens)))


def half_radius_of(squares: Array) -> float:
    """`half_radius` of a cloud with these squared chords."""
    n = len(squares)
    # Bisection over the squared chords of pairs: the count changes only there.
    values = np.unique(squares[np.triu_indices(n, 1)])
    low, high = -1, len(values) - 1
    while high - low > 1:
        middle = (low + high) // 2
        # A token is its own neighbour here.
        if np.sum(1.0 / np.sum(squares <= values[middle], axis=1)) > n / 2:
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
    squares = squares_of(check.tokens(tokens))
    kind = check.choice("kind", kind, ("renyi", "strong"))
    if delta is None:
        delta = half_radius_of(squares) * MARGIN
    near = _within(squares, check.number("delta", delta))
    if kind == "strong":
        return _strong(near, delta)
    return _renyi(near, delta, draws, check.generator(seed))


def shares_of(squares: Array, draws: int, rng: np.random.Generator) -> Array:
    """The shares of strong and of Rényi centres within the half radius, from squared chords.

    Two rows with those in the order of the text, reversed, and in any order.
    """
    n = len(squares)
    near = _within(squares, half_radius_of(squares) * MARGIN)
    forward, backward = _strong_counts(near)
    parked = _parked(near, _orders(n, draws, rng))
    strong = forward, backward, expected_strong(near)
    return np.array([strong, (parked[0], parked[1], np.mean(parked[2:]))]) / n


def _strong(near: NDArray[np.bool_], delta: float) -> Count:
    return Count(*_strong_counts(near), expected_strong(near), spread_strong(near), delta)


def _strong_counts(near: NDArray[np.bool_]) -> tuple[int, int]:
    """The number of tokens without an earlier neighbour, and without a later one."""
    earlier, later = np.tril(near).any(axis=1), np.triu(near).any(axis=1)
    return int(np.sum(~earlier)), int(np.sum(~later))


def _renyi(near: NDArray[np.bool_], delta: float, draws: int, rng: np.random.Generator) -> Count:
    counts = _parked(near, _orders(len(near), draws, rng))
    mean, spread = float(np.mean(counts[2:])), float(np.std(counts[2:]))
    return Count(int(counts[0]), int(counts[1]), mean, spread, delta)


def _orders(n: int, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The order of the text, the reversed one, and some drawn at random."""
    drawn = [rng.permutation(n) for _ in range(draws)]
    return np.array([np.arange(n), np.arange(n)[::-1], *drawn])


def _parked(near: NDArray[np.bool_], orders: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of Rényi centres of a cloud in each of several orders, (K, n)."""
    blocked, rows = np.zeros(orders.shape, dtype=bool), np.arange(len(orders))
    counts = np.zeros(len(orders), dtype=np.int64)
    for token in orders.T:
        parks = ~blocked[rows, token]
        counts += parks
        blocked |= near[token] & parks[:, None]
    return counts


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


def squares_of(x: Array, cosines: Array | None = None) -> Array:
    """Squared chords of all pairs of unit vectors; those of close ones from their difference."""
    squares = 2.0 - 2.0 * (x @ x.T if cosines is None else cosines)
    np.fill_diagonal(squares, 0.0)
    close = squares < NEAR
    rows = np.flatnonzero(close.sum(axis=1) > 1)  # each token is close to itself
    if rows.size:
        from scipy.spatial.distance import cdist

        block = np.ix_(rows, rows)
        squares[block] = np.where(
            close[block], cdist(x[rows], x[rows], "sqeuclidean"), squares[block]
        )
    return squares
