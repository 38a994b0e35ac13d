"""Rényi parking with cars that grow: the law of pairs for β → ∞, without times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.types import Array
from parkade.model.sphere import distance

CARS_CONSTANT = 0.577
"""Mean number of growing cars of length δ on a long line, times δ over its length; ± 0.0005.

Measured by simulation. It lies between ½ for strong Rényi centres and `PARKING_CONSTANT` for
Rényi centres. If a fair coin and not the order decided which of two cars leaves, it would be
e^{−γ} = 0.5615 (B. Derrida, C. Godrèche, I. Yekutieli, Phys. Rev. A 44, 6241, 1991).
"""


def growing_cars(tokens: ArrayLike) -> Array:
    """The length up to which each token stays parked, as all cars grow together.

    Tokens park one after another, as cars of a length δ that grows. As soon as an earlier car that
    is still there is at the distance δ, a car is towed away for good. So token s is parked
    until ::

        d_s = min{φ_su : u < s, d_u > φ_su},

    with φ_su the angle between tokens s and u; the first token stays forever.

    For large β the clusters at time t are the cars of length δ(t) with β(1 − cos δ) = ln t
    (`log_meeting_time`, to leading order).

    Parameters
    ----------
    tokens : (n, d) array
        Unit vectors, in sequence order.

    Returns
    -------
    (n,) array
        Angles; infinite for the first token. ``(lengths > delta).sum()`` cars of the length
        δ are parked.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.from_angles([0.0, 0.3, 0.6, 2.0])
    >>> pk.theory.growing_cars(x).round(2).tolist()
    [inf, 0.3, 0.6, 2.0]
    """
    x = check.tokens(tokens)
    lengths = np.full(len(x), np.inf)
    for s in range(1, len(x)):
        # An earlier car at the same place blocks nobody: its own length is 0.
        angle = distance(x[:s], x[s])
        lengths[s] = angle[lengths[:s] > angle].min()
    return lengths
