"""`forward`: layers one after the other, instead of a flow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError, StuckError
from parkade.base.types import Array
from parkade.model.layers import Layers
from parkade.model.model import Model
from parkade.model.parts.norm import NGPT
from parkade.model.sphere import normalize
from parkade.model.transformer import Transformer
from parkade.runs.path import Path
from parkade.solve.stepper import undefined

_SHORTEST = 1e-100  # radius: the square of a speed must fit into a float64


def forward(
    model: Model,
    tokens: ArrayLike,
    layers: int,
    *,
    step: float = 1.0,
    radii: ArrayLike | None = None,
) -> Path:
    """Pass tokens through layers, as a transformer does, instead of along the flow.

    With the force F of the model, N for the normalisation of a vector and h for `step`, a layer
    is ::

        post   x ← N(x + h F(x))
        pre    x ← x + h F(N x)
        peri   x ← x + h N(F(N x))
        nGPT   x ← N(x + hα (N(F(x)) − x))
        sqrt   x ← N(x + h F(x)/√(t + 1))

    and mix is post until its τ, then pre. Where some layers change the lengths of tokens, the
    others keep them, and act on the directions. For h → 0 the path tends to that of `simulate`,
    with an error of order h. Error messages count layers from 0.

    Parameters
    ----------
    model : Transformer, or Layers of them
    tokens : (n, d) array
        Unit vectors, in sequence order.
    layers : int
        Number of layers.
    step : float
        The step h. Layer i acts at the time t = i·h.
    radii : float or (n,) array, optional
        Initial lengths of the tokens, if the model has lengths; 1 by default.

    Returns
    -------
    Path
        The tokens before the first layer and after each layer, at times 0, h, 2h, …

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(20, 2, seed=1)
    >>> path = pk.forward(pk.Transformer([pk.Head(d=2, beta=4.0)], norm="pre"), x0, 12)
    >>> path
    Path(20 tokens in d=2, t=0…12, 13 times)
    >>> bool(path.radii[-1].min() > 1)
    True
    """
    if getattr(model, "noise", None) is not None:
        raise InputError(
            f"forward takes layers without noise, got {check.brief(model)}; use pk.simulate, or "
            "model.with_noise(None)"
        )
    count, h = check.positive_int("layers", layers), check.positive("step", step)
    x = check.tokens(tokens, getattr(model, "d", None))
    check.fits_in_memory(
        8.0 * (count + 1) * x.size, f"{count} layers of {len(x)} tokens", "use fewer layers"
    )
    states = np.empty((count + 1, *x.shape))
    states[0] = x * first_radii(model, len(x), radii)[:, None]
    for i in range(count):
        states[i + 1] = _layer(_at(model, i * h), states[i], i, h, keeps=model.radii)
    lengths = np.linalg.norm(states, axis=-1).astype(np.float64, copy=False)
    times = h * np.arange(count + 1, dtype=np.float64)
    directions = states / lengths[..., None]
    return Path(times, directions, model, lengths if model.radii else None)


def first_radii(model: Model, n: int, radii: ArrayLike | None, name: str = "radii") -> Array:
    """Check and return the initial lengths of n tokens, (n,); messages call them `name`."""
    if radii is not None and not model.radii:
        raise InputError(
            f"tokens have no lengths in {model.label}, so radii must be None; norm='pre' and "
            "norm='peri' have them"
        )
    lengths = check.array(name, 1.0 if radii is None else radii)
    if lengths.shape not in ((), (n,)) or not (lengths > 0).all():
        raise InputError(
            f"{name} must be a number > 0, or one for each of the {n} tokens, got "
            f"{check.brief(radii)}"
        )
    if lengths.min() < _SHORTEST or lengths.max() > 1.0 / _SHORTEST:
        raise InputError(
            f"{name} must be between {_SHORTEST:g} and {1.0 / _SHORTEST:g}, got "
            f"{check.brief(radii)}; speeds beyond that are too large or too small for float64"
        )
    return np.broadcast_to(lengths, n)


def _at(model: Any, t: float) -> Transformer:
    """The transformer that acts at time t."""
    layer = model.at(t) if isinstance(model, (Layers, Transformer)) else model
    if not isinstance(layer, Transformer):
        raise InputError(
            f"forward needs a pk.Transformer, or pk.Layers of them, got {check.brief(model)}"
        )
    return layer


def _layer(model: Transformer, x: Array, number: int, h: float, *, keeps: bool) -> Array:
    """The tokens after a layer; with `keeps` they have lengths, even if this layer ignores them."""
    norm, t = model.norm, number * h
    lengths = np.linalg.norm(x, axis=-1, keepdims=True) if keeps else 1.0
    unit = x / lengths
    with np.errstate(all="ignore"):  # errors for results that are not finite follow
        force = model.force(unit, t=t)
        clock = norm.clock(np, force, lengths, t)
        back = norm.alpha * unit if isinstance(norm, NGPT) else 0.0
        moved: Array
        moved = x + h * force * lengths / clock if norm.radii else unit + h * (force / clock - back)
        sizes = np.linalg.norm(moved, axis=-1)
    if not np.isfinite(sizes).all():
        raise StuckError(undefined(model, int(np.isfinite(sizes).argmin()), f"in layer {number}"))
    if not sizes.all():
        raise StuckError(
            f"layer {number} takes token {int(sizes.argmin())} to 0, where it has no direction; "
            "use fewer layers or another step"
        )
    return moved if norm.radii else lengths * normalize(moved)
