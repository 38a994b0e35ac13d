"""Before measuring: leave out sinks, and centre by the mean of other texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array

LONG = 5.0
"""A token whose length is this many times the median of its layer is a sink."""


def find_sinks(hidden: ArrayLike, factor: float = LONG) -> NDArray[np.int64]:
    """The tokens of a text that are very long in some layer: they take most of the attention.

    Parameters
    ----------
    hidden : (L+1, n, d) array
        Hidden states of one text.
    factor : float
        How many times the median length of their layer they have.

    Returns
    -------
    (m,) int array

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import find_sinks
    >>> hidden = np.ones((2, 5, 3))
    >>> hidden[1, 0] *= 100
    >>> find_sinks(hidden).tolist()
    [0]
    """
    lengths = np.linalg.norm(_states(hidden), axis=2)
    middle = np.median(lengths, axis=1, keepdims=True)
    return np.flatnonzero((lengths > factor * middle).any(axis=0))


def without_tokens(hidden: ArrayLike, dropped: ArrayLike) -> Array:
    """Hidden states without some tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import without_tokens
    >>> without_tokens(np.ones((2, 5, 3)), [0]).shape
    (2, 4, 3)
    """
    x = _states(hidden)
    rest = np.delete(x, np.asarray(dropped, dtype=np.int64), axis=1)
    if rest.shape[1] < 2:
        raise InputError(
            f"a text must keep at least two tokens, got {rest.shape[1]} of {x.shape[1]}; use a "
            "longer text"
        )
    return rest


def centred(texts: Sequence[ArrayLike]) -> list[Array]:
    """Hidden states minus the mean of the *other* texts in the same layer.

    Tokens of trained models share a common direction, which has nothing to do with the text. The
    mean of the text itself would also remove what its tokens have in common, which is what is
    measured.

    Parameters
    ----------
    texts : sequence of (L+1, n, d) arrays
        Hidden states of at least two texts.

    Returns
    -------
    list of (L+1, n, d) arrays

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import centred
    >>> one, two = centred([np.ones((1, 2, 3)), np.full((1, 4, 3), 5.0)])
    >>> one[0, 0].tolist(), two[0, 0].tolist()
    ([-4.0, -4.0, -4.0], [4.0, 4.0, 4.0])
    """
    states = [_states(x) for x in texts]
    if len(states) < 2:
        raise InputError(
            f"centring needs the mean of other texts, got {len(states)} text; pass two or more"
        )
    sums = np.array([x.sum(axis=1) for x in states])
    counts = np.array([x.shape[1] for x in states])
    total, many = sums.sum(axis=0), counts.sum()
    return [
        x - ((total - own) / (many - count))[:, None]
        for x, own, count in zip(states, sums, counts, strict=True)
    ]


def directions(hidden: Array) -> Array:
    """Unit vectors; a zero vector is an error that says which token it is."""
    lengths = np.linalg.norm(hidden, axis=-1, keepdims=True)
    if not (lengths > 0).all():
        layer, token = np.argwhere(lengths[..., 0] == 0)[0]
        raise InputError(f"token {token} has no direction in layer {layer}: all entries are 0")
    unit: Array = hidden / lengths
    return unit


def _states(hidden: ArrayLike) -> Array:
    x = check.array("hidden", hidden)
    if x.ndim != 3 or 0 in x.shape:
        raise InputError(f"hidden states must be an (L+1, n, d) array, got shape {x.shape}")
    return x
