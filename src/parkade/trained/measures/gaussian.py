"""A null of equal covariance: Gaussian tokens with the mean and the covariance of real ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The normal law with the mean and the covariance of a cloud.

    What a measure says of tokens beyond it is not due to a few directions being large.

    Attributes
    ----------
    mean : (d,) array
    root : (r, d) array
        rootᵀ root is the covariance. Single precision, which is enough for a null, and twice as
        fast.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures.gaussian import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> law = Gaussian.of(rng.standard_normal((5000, 2)) * [1, 3])
    >>> law.draw(5000, rng).std(axis=0).round(1).tolist()
    [1.0, 3.0]
    """

    mean: NDArray[np.float32]
    root: NDArray[np.float32]

    @classmethod
    def of(cls, tokens: Array) -> Gaussian:
        """The law of a cloud, (n, d)."""
        n, d = tokens.shape
        mean = tokens.mean(axis=0)
        single = mean.astype(np.float32)
        free = (tokens - mean) / np.sqrt(max(n - 1, 1))
        if n > d:  # otherwise the tokens themselves are the smaller root
            try:
                return cls(single, np.linalg.cholesky(free.T @ free).T.astype(np.float32))
            except np.linalg.LinAlgError:  # they lie in a plane
                pass
        return cls(single, free.astype(np.float32))

    @property
    def rank(self) -> int:
        """The number r of standard normal numbers for each token."""
        return len(self.root)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """As many tokens of this law, (n, d)."""
        return self.of_normal(rng.standard_normal((n, self.rank), np.float32)).astype(np.float64)

    def of_normal(self, normal: NDArray[np.float32]) -> NDArray[np.float32]:
        """Tokens of this law, (n, d), from standard normal numbers, (n, r)."""
        drawn: NDArray[np.float32] = self.mean + normal @ self.root
        return drawn
