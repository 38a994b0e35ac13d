"""The radius of clusters in an ensemble, for tables and plots."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from parkade.analysis.merging import default_radius
from parkade.base.errors import InputError
from parkade.sweeps import grid, laws
from parkade.sweeps.measures import MEASURES
from parkade.sweeps.recipe import Recipe


def needed(variables: Iterable[str]) -> bool:
    """Whether one of the variables depends on the radius of clusters."""
    users = (measure for measure in MEASURES.values() if measure.observes == grid.CLUSTERS)
    return any(name in measure.variables for measure in users for name in variables)


def coordinate(recipe: Recipe) -> Any:
    """The radius of clusters as a coordinate of xarray: one, or one for each model."""
    if "cluster_radius" in recipe.axes:
        axis = recipe.axes["cluster_radius"]
        return list(axis.values) if axis.swept else axis.values[0]
    drawn = _draws_models(recipe)
    radii = [
        _default(recipe, index) for index in range(0, recipe.total, 1 if drawn else recipe.runs)
    ]
    dims = (*recipe.points, "run") if drawn else tuple(recipe.points)
    return dims, np.array(radii).reshape(recipe.shape[: len(dims)])


def as_text(recipe: Recipe) -> str:
    """The radius of clusters as text for a summary."""
    if "cluster_radius" in recipe.axes:
        return ", ".join(f"{radius:g}" for radius in recipe.axes["cluster_radius"].values)
    if _draws_models(recipe):
        return "that of the model drawn for each run"
    radii = [radius for radius in coordinate(recipe)[1].flat if not math.isnan(radius)]
    ends = sorted({f"{end:.3g}" for end in (min(radii), max(radii))}, key=float) if radii else []
    return " to ".join(ends) or "that of the model"


def _draws_models(recipe: Recipe) -> bool:
    """Whether runs at one point of the grid have different models."""
    matrices = (recipe.axes[name] for name in grid.MATRICES if name in recipe.axes)
    drawn = any(laws.is_drawn(value) for axis in matrices for value in axis.values)
    return drawn or "heads" in recipe.axes or "mlp" in recipe.axes


def _default(recipe: Recipe, index: int) -> float:
    try:
        return default_radius(recipe.model(index))
    except InputError:  # a store may have models of a module that is not imported here
        return math.nan
