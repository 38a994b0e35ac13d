"""Measures of one cloud of tokens: (n, d) unit vectors to a number.

All but the mean cosine depend on the matrix of cosines only; `Cosines` makes it once for several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array

CLOSE = 0.9
"""Tokens with a larger cosine are close."""


def mean_cosine(tokens: ArrayLike) -> float:
    """The mean cosine of two different tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import mean_cosine
    >>> mean_cosine(np.eye(5)), mean_cosine([[0.6, 0.8], [0.6, 0.8]])
    (0.0, 1.0)
    """
    return mean_of(_pair_of(tokens))


def mean_of(x: Array) -> float:
    """`mean_cosine` of unit vectors that need no check."""
    n = len(x)
    # Σ_{i≠j} ⟨x_i, x_j⟩ = |Σ x_i|² − n: no matrix of pairs is needed.
    return float((np.sum(x.sum(axis=0) ** 2) - n) / (n * (n - 1)))


def effective_rank(tokens: ArrayLike) -> float:
    """The number of directions in use: exp of the entropy of the squared singular values.

    It is 1 if all tokens are on a line, and min(n, d) if all singular values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import effective_rank
    >>> round(effective_rank(np.eye(5)), 9), round(effective_rank([[1.0, 0], [1, 0]]), 9)
    (5.0, 1.0)
    """
    x = check.tokens(tokens)
    return Cosines(x @ x.T if len(x) <= x.shape[1] else x.T @ x).rank()


def close_share(tokens: ArrayLike, cosine: float = CLOSE) -> float:
    """The share of pairs of different tokens whose cosine is above this.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import close_share
    >>> close_share(np.eye(2)[[0, 0, 0, 1]])
    0.5
    """
    x = _pair_of(tokens)
    return Cosines(x @ x.T).close_share(cosine)


def cluster_count(tokens: ArrayLike, cosine: float = CLOSE) -> float:
    """The number of clusters if tokens with a cosine of at least this are linked.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import cluster_count
    >>> cluster_count(np.eye(3)[[0, 0, 1, 2, 2]])
    3.0
    """
    x = check.tokens(tokens)
    return Cosines(x @ x.T).cluster_count(cosine)


def energy(tokens: ArrayLike, beta: float) -> float:
    """The mean of e^{β(⟨x_i,x_j⟩−1)} over all pairs: 2β e^{−β} times the energy E_β, at most 1.

    Full attention with Q = K = V = I never lets it fall (arXiv 2312.10794). It is 1 if and only if
    all tokens are equal.

    Examples
    --------
    >>> from parkade.trained.measures import energy
    >>> energy([[1.0, 0], [1, 0]], 4.0), round(energy([[1.0, 0], [-1, 0]], 4.0), 6)
    (1.0, 0.500168)
    """
    x = check.tokens(tokens)
    return Cosines(x @ x.T).energy(check.strength("beta", beta))


@dataclass(frozen=True, eq=False)
class Cosines:
    """The cosines of all pairs of tokens, and the measures that need nothing else."""

    matrix: Array

    def rank(self) -> float:
        """The `effective_rank` of these tokens."""
        values = np.maximum(np.linalg.eigvalsh(self.matrix), 0.0)
        share = values / values.sum()
        share = share[share > 0]
        return math.exp(-float(np.sum(share * np.log(share))))

    def close_share(self, cosine: float = CLOSE) -> float:
        """The `close_share` of these tokens."""
        n = len(self.matrix)
        above = np.count_nonzero(self.matrix > cosine)
        return float(above - np.count_nonzero(self.matrix.diagonal() > cosine)) / (n * (n - 1))

    def cluster_count(self, cosine: float = CLOSE) -> float:
        """The `cluster_count` of these tokens."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        linked = csr_matrix((self.matrix >= cosine).astype(np.int8))
        return float(connected_components(linked, directed=False)[0])

    def energy(self, beta: float) -> float:
        """The `energy` of these tokens."""
        return float(np.mean(np.exp(beta * np.minimum(self.matrix - 1.0, 0.0))))


def _pair_of(tokens: ArrayLike) -> Array:
    x = check.tokens(tokens)
    if len(x) < 2:
        raise InputError(f"cosines need at least two tokens, got {len(x)}; use a longer text")
    return x
