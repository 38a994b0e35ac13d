"""The share of attention that goes to sinks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array

SINK = 0.3
"""A head is a sink if the first token gets more than this share (arXiv 2410.10781)."""


def sink_scores(attention: ArrayLike, token: int = 0) -> tuple[Array, float]:
    """The mean attention that later tokens pay to one token, and what an even head would pay.

    Parameters
    ----------
    attention : (..., n, n) array
        Weights of heads; row k is what token k attends to.
    token : int
        The first one by default.

    Returns
    -------
    scores : (...) array
    even : float
        The null: the score of a head with equal weights for all tokens that it sees.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import sink_scores
    >>> scores, even = sink_scores([[1.0, 0, 0], [0.9, 0.1, 0], [0.7, 0.1, 0.2]])
    >>> round(float(scores), 3), round(even, 3)
    (0.8, 0.417)
    """
    a = check.array("attention", attention)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] < 2:
        raise InputError(f"attention must be an (..., n, n) array with n > 1, got {a.shape}")
    n = a.shape[-1]
    if not 0 <= token < n - 1:
        raise InputError(f"token must be an index from 0 to {n - 2}, got {token}")
    causal = not np.triu(a.reshape(-1, n, n).max(axis=0), 1).any()
    seen = np.arange(token + 2, n + 1) if causal else np.full(n - token - 1, n)
    return a[..., token + 1 :, token].mean(axis=-1), float(np.mean(1 / seen))


def sink_share(scores: ArrayLike, above: float = SINK) -> float:
    """The share of heads whose score is above this.

    Examples
    --------
    >>> from parkade.trained.measures import sink_share
    >>> sink_share([[0.1, 0.8], [0.2, 0.4]])
    0.5
    """
    return float(np.mean(check.array("scores", scores) > above))
