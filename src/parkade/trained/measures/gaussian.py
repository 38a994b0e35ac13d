"""A null of equal covariance: Gaussian tokens with the mean and the covariance of real ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parkade.base.types import Array


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The normal law with the mean and the covariance of a cloud.

    What a measure says of tokens beyond it is not due to a few directions being large.

    Attributes
    ----------
    mean : (d,) array
    root : (r, d) array
        rootᵀ root is the covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures.gaussian import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> law = Gaussian.of(rng.standard_normal((5000, 2)) * [1, 3])
    >>> law.draw(rng.standard_normal((5000, law.rank))).std(axis=0).round(1).tolist()
    [1.0, 3.0]
    """

    mean: Array
    root: Array

    @classmethod
    def of(cls, tokens: Array) -> Gaussian:
        """The law of a cloud, (n, d)."""
        n, d = tokens.shape
        mean = tokens.mean(axis=0)
        free = (tokens - mean) / np.sqrt(max(n - 1, 1))
        if n > d:  # otherwise the tokens themselves are the smaller root
            try:
                return cls(mean, np.linalg.cholesky(free.T @ free).T)
            except np.linalg.LinAlgError:  # they lie in a plane
                pass
        return cls(mean, free)

    @property
    def rank(self) -> int:
        """The number r of standard normal numbers for each token."""
        return len(self.root)

    def draw(self, normal: Array) -> Array:
        """Tokens of this law, (n, d), from standard normal numbers, (n, r)."""
        drawn: Array = self.mean + normal @ self.root
        return drawn
