"""Rényi parking: which tokens, by their place and their order alone, are to lead clusters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model

__all__ = ["renyi_centers", "strong_renyi_centers"]

_WIDE = 4.0  # cells this many times wider than a ball's reach, where tokens are sparse
_COARSE = 4  # with fewer cells along the longest side a ball sees nearly all of them


def renyi_centers(
    tokens: ArrayLike, delta: float, *, model: Model | None = None
) -> NDArray[np.int64]:
    """Rényi centres: tokens, in their order, that find no centre within `delta`.

    Tokens park one after another. A token farther than `delta` from every centre so far
    becomes a centre, and any other does not. The first token always is one.

    Parameters
    ----------
    tokens : (n, d) array
        Unit vectors, in the order of the sequence.
    delta : float
        Distance δ: an angle from 0 to π, or with `model` any number ≥ 0. With δ = 0 distinct
        tokens are centres.
    model : Model, optional
        Take the distance that this model's attention feels, √⟨Q(x−y), K(x−y)⟩, instead of the
        angle. Its square is (x−y)ᵀS(x−y) with S the symmetric part of KᵀQ, which must have no
        negative eigenvalue. If KᵀQ is symmetric and tokens x and y have the same ⟨Qx, Kx⟩,
        then x attends to y with exp(−β·distance²/2) times the weight that it gives itself.
        If Q = K = I it is the chord, 2 sin(angle/2).

    Returns
    -------
    (m,) int array
        Indices of the centres, increasing.

    Notes
    -----
    Takes a time of order n on the circle and on S², whatever δ; in higher dimensions of mn at
    most. Squares are compared, |x−y|² for angles up to π/2 and |x+y|² beyond: distances of
    less than 1e-162 count as 0.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.from_angles([0.0, 0.3, 0.6, 2.0])
    >>> pk.renyi_centers(x, 0.5).tolist()
    [0, 2, 3]
    >>> pk.renyi_centers(x, 0.5, model=pk.Attention(Q=[1, 4])).tolist()
    [0, 1, 2, 3]
    """
    from parkade.engine import balls

    return np.flatnonzero(_fates(tokens, delta, model, strong=False)[0] != balls.BLOCKED)


def strong_renyi_centers(
    tokens: ArrayLike, delta: float, *, model: Model | None = None
) -> NDArray[np.int64]:
    """Strong Rényi centres: tokens that find no earlier token within `delta`.

    Nobody they attend to is near, be it a centre or not. They are Rényi centres, too.

    Parameters
    ----------
    tokens, delta, model
        As in `renyi_centers`.

    Returns
    -------
    (m,) int array
        Indices of the strong centres, increasing.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.from_angles([0.0, 0.3, 0.6, 2.0])
    >>> pk.strong_renyi_centers(x, 0.5).tolist()  # 0.6 is no centre: 0.3 came before it
    [0, 3]
    """
    from parkade.engine import balls

    return np.flatnonzero(_fates(tokens, delta, model, strong=True)[0] == balls.STRONG)


def _fates(
    tokens: ArrayLike, delta: Any, model: Any, *, strong: bool
) -> tuple[NDArray[np.uint8], int]:
    """What becomes of each token (see `engine.balls`), and how many pairs were looked at."""
    from parkade.engine import balls

    x, sign, bound = _places(tokens, delta, model)
    low = x.min(axis=0)
    spread = x.max(axis=0) - low
    reach = math.sqrt(bound)
    if sign > 0 or _COARSE * reach >= spread.max():
        fates, looked_at = balls.by_scan(x, sign, bound, strong)
        return fates, looked_at
    # Leaving out coordinates only brings tokens closer: none within reach is missed.
    d = x.shape[1]
    axes = np.argsort(spread)[[-1, -1, -2] if d == 2 else [-1, -2, -3]]
    low, spread = low[axes], spread[axes]
    reach = 1.001 * reach + 1e-160  # more than all rounding, and squares that underflow
    # Wide cells are few to visit, narrow ones hold few tokens in vain.
    sparse = d == 2 or len(x) * (reach / spread[0]) ** min(d - 1, 3) < 1
    side = np.maximum((_WIDE if sparse else 1.0) * reach, 2.0**-50 * spread)  # countable cells
    if d == 2:
        side[0] = math.inf  # the circle needs no third axis: one cell
    fates, looked_at = balls.by_cells(x, bound, strong, axes, low, side, reach)
    return fates, looked_at


def _places(tokens: ArrayLike, delta: Any, model: Any) -> tuple[Array, float, float]:
    """Points, and the sign and bound that tell which are within δ (see `engine.balls`)."""
    radius = check.number("delta", delta)
    if model is None:
        x = np.ascontiguousarray(check.tokens(tokens))
        if not 0 <= radius <= math.pi:
            raise InputError(
                f"delta must be an angle from 0 to π, got {radius:g}; pass radians, or a model "
                "to use its distance"
            )
        # The chord is flat near π, where |x + y| tells angles apart.
        if radius > math.pi / 2:
            return x, 1.0, (2 * math.cos(radius / 2)) ** 2
        return x, -1.0, (2 * math.sin(radius / 2)) ** 2

    from parkade.engine import balls

    if not isinstance(model, Model) or model.product is None:
        raise InputError(
            f"model must be one attention head such as parkade.Attention, got "
            f"{type(model).__name__}; leave it out to measure angles"
        )
    x = np.ascontiguousarray(check.tokens(tokens, d=model.d))
    if radius < 0:
        raise InputError(f"delta must be ≥ 0, got {radius:g}; it is a distance")
    return balls.mapped(x, _root(model.product, model.product_error)), -1.0, radius * radius


def _root(product: Array, rounding: float) -> Array:
    """A matrix R with RRᵀ = S, so that |Rᵀ(x − y)| is the distance that attention feels."""
    values, vectors = np.linalg.eigh(product / 2 + product.T / 2)
    if values[0] < -rounding:
        raise InputError(
            f"the symmetric part of KᵀQ must have no negative eigenvalue, got {values[0]:g}: it "
            "gives no distance; leave model out to measure angles"
        )
    root: Array = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0)))
    return root
