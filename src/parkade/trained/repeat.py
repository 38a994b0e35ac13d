"""A trained layer applied again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.runs.path import Path
from parkade.trained import forward

if TYPE_CHECKING:
    from parkade.trained.model import Trained


def which(model: Trained, layer: int | None) -> int:
    """The number of the layer to repeat: the one asked for, or the only one."""
    if layer is not None:
        return model.number(layer)
    if model.shape.distinct == 1 or model.layers == 1:
        return model.layers - 1
    raise InputError(
        f"{model.name} has {model.layers} different layers; say which one to repeat, layer=0 to "
        f"{model.layers - 1}"
    )


def iterate(model: Trained, start: str | ArrayLike, layer: int | None, times: int) -> Path:
    """A layer applied again and again, as trained; see `Trained.iterate`."""
    number, count = which(model, layer), check.positive_int("times", times)
    if isinstance(start, str) or np.ndim(start) == 1:
        states = model.read(start).hidden[number if layer is not None else 0]
    else:
        states = check.array("start", start).astype(model.dtype)
    if states.ndim != 2 or states.shape[1] != model.d or not len(states):
        raise InputError(f"start must be a text, or (n, {model.d}) states, got {states.shape}")
    check.fits_in_memory(8.0 * (count + 1) * states.size, f"{count} times", "use fewer")
    path = np.empty((count + 1, *states.shape))
    block = model.block(number)
    path[0] = states
    with forward.cores(model.shape, len(states)):
        for i in range(count):
            path[i + 1] = states = forward.layer(block, model.shape, states)[1]
    lengths = np.linalg.norm(path, axis=-1)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise InputError(f"tokens overflow or vanish when layer {number} is repeated {count} times")
    steps = np.arange(count + 1, dtype=np.float64)
    return Path(steps, path / lengths[..., None], radii=lengths)
