"""The results of all runs of an ensemble, as arrays or as one labelled Dataset."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.analysis.centers import KINDS
from parkade.base import check
from parkade.sweeps import radii
from parkade.sweeps.measures import PLATEAUS
from parkade.sweeps.recipe import Recipe

if TYPE_CHECKING:
    import xarray


def check_memory(recipe: Recipe, variables: Iterable[str]) -> None:
    """Raise an error if these variables of the whole ensemble do not fit in memory."""
    shapes = recipe.shapes(recipe.total)
    size = 8.0 * sum(math.prod(shapes[name]) for name in variables)
    remedy = "measure less, or use parkade sweep and load_ensemble(store, variables=[…])"
    check.fits_in_memory(size, "the ensemble", remedy)


def allocate(
    recipe: Recipe, variables: Iterable[str], *, missing: bool = False
) -> dict[str, NDArray[Any]]:
    """Arrays for these variables of the whole ensemble; NaN if some runs are `missing`."""
    variables = list(variables)
    check_memory(recipe, variables)
    shapes, types = recipe.shapes(recipe.total), recipe.variables
    if missing:
        return {name: np.full(shapes[name], np.nan) for name in variables}
    return {name: np.empty(shapes[name], types[name].dtype) for name in variables}


class Results(NamedTuple):
    """The results of an ensemble as arrays.

    `parkade sweep` uses these, since xarray takes longer to import than a short sweep to run.
    """

    recipe: Recipe
    arrays: dict[str, NDArray[Any]]
    """The variables by name, with a leading axis of simulations."""
    versions: list[dict[str, str]]
    """The different software versions that made the batches."""

    def to_xarray(self) -> xarray.Dataset:
        """One Dataset, with the parameters of the grid as dimensions."""
        import xarray

        recipe, versions = self.recipe, self.versions
        known = recipe.variables
        dataset = xarray.Dataset(
            coords=_coordinates(recipe, {dim for name in self.arrays for dim in known[name].dims}),
            attrs={
                "recipe": recipe.to_json(),
                "versions": json.dumps(versions[0] if len(versions) == 1 else versions),
            },
        )
        if radii.needed(self.arrays):
            dataset.coords["cluster_radius"] = radii.coordinate(recipe)
        for name, values in self.arrays.items():
            dims = (*recipe.points, "run", *known[name].dims)
            shape = (*recipe.shape, *values.shape[1:])
            array = xarray.DataArray(values.reshape(shape), dims=dims)
            order = [*recipe.points, *(d for d in dims if d in recipe.observers), "run", ...]
            dataset[name] = array.transpose(*order)
            dataset[name].attrs["long_name"] = known[name].about
        return dataset


def _coordinates(recipe: Recipe, inner: set[str]) -> dict[str, Any]:
    """Labels of all dimensions; `inner` are the dimensions of single runs."""
    known = {
        "time": np.array(recipe.times),
        "token": np.arange(recipe.sizes["token"]),
        "axis": np.arange(recipe.sizes["axis"]),
        "kind": list(KINDS),
        "plateau": list(PLATEAUS),
        **{name: list(axis.labels) for name, axis in recipe.observers.items()},
    }
    outer = {name: list(axis.labels) for name, axis in recipe.points.items()}
    return {**outer, "run": np.arange(recipe.runs), **{d: known[d] for d in known if d in inner}}
