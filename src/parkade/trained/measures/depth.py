"""A measure of clouds over depth and texts, beside three nulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array, Seed
from parkade.model import sphere
from parkade.trained.measures.gaussian import Gaussian
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.prepare import directions


def over_depth(
    name: str,
    measure: Callable[[Array], float],
    texts: Sequence[ArrayLike],
    *,
    draws: int = 5,
    seed: Seed = 0,
) -> Measured:
    """A measure in each layer of each text, beside the same measure of tokens without a text.

    Parameters
    ----------
    name : str
    measure : function ((n, d) array of unit vectors) -> float
    texts : sequence of (L+1, n, d) arrays
        Hidden states of one model; only their directions count, but for the null "gaussian".
    draws : int
        Number of clouds drawn for each null, text and layer.
    seed : int, numpy.random.Generator or None

    Returns
    -------
    Measured
        ``values`` has the shape (texts, L+1). The null "isotropic" are as many uniformly
        distributed directions. The null "pooled" are as many tokens of all texts together, drawn
        without replacement from the same layer: there the text does not matter. With one text
        there is nothing to pool, and no such null. The null "gaussian" are as many Gaussian tokens
        with the mean and the covariance of those of all texts: what a text shows beyond it is not
        due to a few directions being large.

    Examples
    --------
    >>> import numpy as np
    >>> from parkade.trained.measures import mean_cosine, over_depth
    >>> states = np.random.default_rng(0).standard_normal((4, 3, 20, 8))  # four texts
    >>> measured = over_depth("cosine", mean_cosine, states)
    >>> measured.values.shape, sorted(measured.nulls)
    ((4, 3), ['gaussian', 'isotropic', 'pooled'])
    """
    hidden = [check.array("hidden", x) for x in texts]
    if not hidden or any(x.ndim != 3 for x in hidden):
        raise InputError("over_depth needs the hidden states of at least one text, (L+1, n, d)")
    depth, _, d = hidden[0].shape
    if any((x.shape[0], x.shape[2]) != (depth, d) for x in hidden):
        shapes = ", ".join(str(x.shape) for x in hidden)
        raise InputError(f"texts must have the layers and the dimension of one model, got {shapes}")
    draws, rng = check.positive_int("draws", draws), check.generator(seed)
    states = [directions(x) for x in hidden]
    pool = np.concatenate(states, axis=1)
    laws = [Gaussian.of(layer) for layer in np.concatenate(hidden, axis=1)]
    values = np.array([[measure(layer) for layer in x] for x in states])
    isotropic, pooled, gaussian = (np.zeros_like(values) for _ in range(3))
    for i, x in enumerate(states):
        n = x.shape[1]
        # Every layer has the same isotropic null.
        isotropic[i] = np.mean([measure(sphere.uniform(n, d, rng)) for _ in range(draws)])
        for _ in range(draws if len(states) > 1 else 0):
            chosen = np.sort(rng.choice(pool.shape[1], n, replace=False))
            pooled[i] += [measure(layer) / draws for layer in pool[:, chosen]]
        for _ in range(draws):
            drawn = (law.draw(n, rng) for law in laws)
            gaussian[i] += [measure(directions(one)) / draws for one in drawn]
    nulls = {"isotropic": isotropic, "pooled": pooled, "gaussian": gaussian}
    if len(states) == 1:
        del nulls["pooled"]
    return Measured(name, values, nulls)
