"""The error that kinks of ReLU cause in explicit steps, in NumPy: see `engine.steps.kinks`."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.steps.kinks import ALLOWED, BUMP, END, MIDDLE
from parkade.model.model import Model
from parkade.model.parts.mlp import MLP
from parkade.model.transformer import Transformer


def kinked_part(model: Model) -> MLP | None:
    """The MLP of a model if it is known to have kinks; None otherwise."""
    mlp = model.mlp if isinstance(model, Transformer) else None
    return mlp if mlp is not None and mlp.activation == "relu" else None


def lost_forces(mlp: MLP, h: float, ends: Array, slopes: Array) -> tuple[Array, Array]:
    """A bound on the error of each token's force, and the place of its worst kink; both (n,).

    `ends` are the tokens at both ends of a step, (2, n, d), and `slopes` are their velocities.
    """
    start, end = ends @ mlp.W1.T + mlp.b1
    slope, last = h * slopes @ mlp.W1.T
    rise = end - start
    bound = MIDDLE * np.maximum(np.maximum(np.abs(slope), np.abs(last)), np.abs(rise))

    def cubic(tau: Array) -> Array:
        bend = (1 - tau) * (slope - rise) - tau * (last - rise)
        value: Array = start + tau * (rise + (1 - tau) * bend)
        return value

    turns = slope * last < 0
    middle = np.where(turns, cubic(slope / np.where(turns, slope - last, 1.0)), start)
    highest = np.maximum(np.maximum(start, end), middle)
    lowest = np.minimum(np.minimum(start, end), middle)
    height = np.maximum(0.0, np.minimum(highest, -lowest))
    lost = np.minimum(np.where(turns, 2, 1) * bound, np.where(turns, BUMP, END) * height)

    crosses = (start > 0) != (end > 0)
    across = np.where(crosses, rise, 1.0)
    line = -start / across
    place = np.where(crosses, np.clip(line - cubic(line) / across, 0.0, 1.0), 0.0)

    lost *= np.linalg.norm(mlp.W2, axis=0)
    worst = lost.argmax(axis=1)[:, None]
    return lost.sum(axis=1), np.take_along_axis(place, worst, 1)[:, 0]


def kink_error(errors: Array, places: Array, tol: float) -> tuple[float, float]:
    """The error of a step due to kinks, relative to the allowed one, and a factor to shorten it.

    `errors` are bounds for each token, and `places` are the places of their worst kinks.
    """
    relative = errors / (ALLOWED * tol)
    excessive = relative > 1.0
    shorter = np.maximum(places[excessive], 0.9 / np.sqrt(relative[excessive]))
    return float(relative.max()), float(shorter.min(initial=1.0))
