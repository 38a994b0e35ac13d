"""Rényi parking: predict which tokens lead clusters from their start and order alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model

_WIDE = 4.0  # width of cells in units of a ball's reach, if tokens are sparse
_COARSE = 4  # with fewer cells along the longest side, a ball touches nearly all of them


def renyi_centers(
    tokens: ArrayLike, delta: float, *, model: Model | None = None
) -> NDArray[np.int64]:
    """Rényi centres: tokens with no earlier centre within `delta`.

    Tokens park one after another. A token becomes a centre if it is farther than `delta` from
    all previous centres. The first token always is one.

    Parameters
    ----------
    tokens : (n, d) array
        Unit vectors, in sequence order.
    delta : float
        Distance δ: an angle from 0 to π, or with `model` any number ≥ 0. With δ = 0 distinct
        tokens are centres.
    model : Model, optional
        Use the distance in this model's attention, √⟨Q(x−y), K(x−y)⟩, instead of the angle.
        Its square is (x−y)ᵀS(x−y) with S the symmetric part of KᵀQ, which must have no
        negative eigenvalue. If KᵀQ is symmetric and tokens x and y have the same ⟨Qx, Kx⟩,
        then x attends to y with exp(−β·distance²/2) times the weight of itself. If Q = K = I,
        the distance is the chord, 2 sin(angle/2).

    Returns
    -------
    (m,) int array
        Indices of the centres, increasing.

    Notes
    -----
    Takes time of order n on the circle and on S², for any δ; in higher dimensions at most
    mn. Squares are compared, |x−y|² for angles up to π/2 and |x+y|² beyond, so distances below
    1e-162 count as 0.

    Examples
    --------
    >>> import parkade as pk
    >>> x = pk.sphere.from_angles([0.0, 0.3, 0.6, 2.0])
    >>> pk.renyi_centers(x, 0.5).tolist()
    [0, 2, 3]
    >>> pk.renyi_centers(x, 0.5, model=pk.Attention(Q=[1, 4])).tolist()
    [0, 1, 2, 3]
    """
    from parkade.engine.search import balls

    return np.flatnonzero(_fates(tokens, delta, model, strong=False)[0] != balls.BLOCKED)


def strong_renyi_centers(
    tokens: ArrayLike, delta: float, *, model: Model | None = None
) -> NDArray[np.int64]:
    """Strong Rényi centres: tokens with no earlier token within `delta`.

    They are Rényi centres as well.

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
    >>> pk.strong_renyi_centers(x, 0.5).tolist()  # 0.6 is not strong: 0.3 is nearby and earlier
    [0, 3]
    """
    from parkade.engine.search import balls

    return np.flatnonzero(_fates(tokens, delta, model, strong=True)[0] == balls.STRONG)


def _fates(
    tokens: ArrayLike, delta: Any, model: Any, *, strong: bool
) -> tuple[NDArray[np.uint8], int]:
    """The kind of each token (see `engine.search.balls`), and the number of pairs compared."""
    from parkade.engine.search import balls

    x, sign, bound = _places(tokens, delta, model)
    low = x.min(axis=0)
    spread = x.max(axis=0) - low
    reach = math.sqrt(bound)
    if sign > 0 or _COARSE * reach >= spread.max():
        fates, looked_at = balls.by_scan(x, sign, bound, strong)
        return fates, looked_at
    # Dropping coordinates only brings tokens closer, so none within reach is missed.
    d = x.shape[1]
    axes = np.argsort(spread)[[-1, -1, -2] if d == 2 else [-1, -2, -3]]
    low, spread = low[axes], spread[axes]
    reach = 1.001 * reach + 1e-160  # a margin for rounding and for squares that underflow
    # Wide cells mean fewer cells to visit, narrow ones fewer tokens to compare.
    sparse = d == 2 or len(x) * (reach / spread[0]) ** min(d - 1, 3) < 1
    side = np.maximum((_WIDE if sparse else 1.0) * reach, 2.0**-50 * spread)  # countable cells
    if d == 2:
        side[0] = math.inf  # the circle needs no third axis: use one cell
    fates, looked_at = balls.by_cells(x, bound, strong, axes, low, side, reach)
    return fates, looked_at


def _places(tokens: ArrayLike, delta: Any, model: Any) -> tuple[Array, float, float]:
    """Points, and the sign and bound of the test for δ (see `engine.search.balls`)."""
    radius = check.number("delta", delta)
    if model is None:
        x = np.ascontiguousarray(check.tokens(tokens))
        if not 0 <= radius <= math.pi:
            raise InputError(
                f"delta must be an angle from 0 to π, got {radius:g}; pass radians, or a model "
                "to use its distance"
            )
        return (x, *ball(radius))

    from parkade.engine.search import balls

    if not isinstance(model, Model) or model.product is None:
        raise InputError(
            f"model must be one attention head such as parkade.Attention, got "
            f"{type(model).__name__}; omit it to use angles"
        )
    x = np.ascontiguousarray(check.tokens(tokens, d=model.d))
    if radius < 0:
        raise InputError(f"delta must be ≥ 0, got {radius:g}; it is a distance")
    return balls.mapped(x, _root(model.product, model.product_error)), -1.0, radius * radius


def ball(angle: float) -> tuple[float, float]:
    """The sign and the bound of the test for an angle; also compiled for pages."""
    # The chord is flat near π, where |x + y| resolves angles better.
    if angle > math.pi / 2:
        return 1.0, (2 * math.cos(angle / 2)) ** 2
    return -1.0, (2 * math.sin(angle / 2)) ** 2


def _root(product: Array, rounding: float) -> Array:
    """A matrix R with RRᵀ = S, so that |Rᵀ(x − y)| is the distance of attention."""
    values, vectors = np.linalg.eigh(product / 2 + product.T / 2)
    if values[0] < -rounding:
        raise InputError(
            f"the symmetric part of KᵀQ must have no negative eigenvalue, got {values[0]:g}; omit "
            "model to use angles"
        )
    root: Array = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0)))
    return root
