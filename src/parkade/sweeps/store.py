"""Where an ensemble is kept: a directory with one netCDF file for each batch of runs.

A file appears whole or not at all, and a file that exists is done; that is all the state
there is. Every file holds the recipe and the versions it was made with.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade import check
from parkade.errors import InputError, ParkadeError, StoreError
from parkade.files import atomic_write, directory, sweep
from parkade.sweeps import netcdf
from parkade.sweeps.measures import KINDS, PLATEAUS, Variable
from parkade.sweeps.recipe import Recipe

if TYPE_CHECKING:
    import xarray

RECIPE = "recipe.json"
_BATCH = re.compile(r"batch-(\d{6,})\.nc")


class Store:
    """The files of an ensemble with this recipe."""

    def __init__(self, path: str | os.PathLike[str], recipe: Recipe) -> None:
        self.path = Path(path)
        self.recipe = recipe

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Store:
        """The store at `path`, with the recipe it was begun with."""
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(
                f"there is no store {folder}; run the ensemble with store={str(path)!r}"
            )
        recipe = _recorded(folder)
        if recipe is None:
            raise InputError(f"{folder} is not the store of an ensemble: it has no {RECIPE}")
        return Store(folder, recipe)

    def file(self, batch: int) -> Path:
        """The file of a batch."""
        return self.path / f"batch-{batch:06d}.nc"

    def done(self) -> list[int]:
        """The batches that are done."""
        names = os.listdir(self.path) if self.path.is_dir() else []
        found = (int(match[1]) for name in names if (match := _BATCH.fullmatch(name)))
        return sorted(batch for batch in found if batch < self.recipe.batches)

    def prepare(self) -> None:
        """Make the directory, or make sure that it holds the same ensemble."""
        directory(self.path)
        recorded = _recorded(self.path)
        if recorded is not None:
            different = recorded.differences(self.recipe)
            if different:
                raise InputError(
                    f"the store {self.path} holds another ensemble: {'; '.join(different)}; "
                    "give another store, or ask for the same"
                )
        sweep(self.path)
        if not (self.path / RECIPE).exists():
            try:
                with atomic_write(self.path / RECIPE) as file:
                    file.write(self.recipe.to_json().encode())
            except OSError as error:
                raise _cannot_write(self.path / RECIPE, error) from None

    def write(self, batch: int, arrays: dict[str, NDArray[Any]]) -> Path:
        """Write the file of a batch."""
        data = netcdf.encode(self.recipe, batch, arrays)
        try:
            with atomic_write(self.file(batch)) as file:
                file.write(data)
        except OSError as error:
            raise _cannot_write(self.file(batch), error) from None
        return self.file(batch)

    def check_memory(self) -> None:
        """Raise if all that is measured does not fit in memory."""
        self._shapes(netcdf.variables(self.recipe))

    def _shapes(self, variables: dict[str, Variable]) -> dict[str, tuple[int, ...]]:
        """Shapes of arrays with all simulations, which must fit in memory."""
        sizes = self.recipe.sizes
        shapes = {
            name: (self.recipe.total, *(sizes[dim] for dim in variable.dims))
            for name, variable in variables.items()
        }
        size = 8.0 * sum(math.prod(shape) for shape in shapes.values())
        remedy = "measure less, or use parkade sweep and load_ensemble(store, variables=[…])"
        check.fits_in_memory(size, "the ensemble", remedy)
        return shapes

    def read(
        self, *, partial: bool = False, variables: Iterable[str] | None = None
    ) -> xarray.Dataset:
        """All runs as one Dataset; if `partial`, with NaN for those not done yet."""
        import xarray

        recipe, done = self.recipe, self.done()
        missing = recipe.batches - len(done)
        if missing and not partial:
            raise ParkadeError(
                f"{missing} of {recipe.batches} batches are missing in {self.path}; run the "
                "ensemble again to go on, or read what there is with partial=True"
            )
        chosen = netcdf.variables(recipe)
        if variables is not None:
            names = [check.choice("variables", name, tuple(chosen)) for name in variables]
            chosen = {name: chosen[name] for name in names}
        shapes = self._shapes(chosen)
        arrays: dict[str, NDArray[Any]] = {
            name: np.full(shape, np.nan) if missing else np.empty(shape, chosen[name].dtype)
            for name, shape in shapes.items()
        }
        made = {netcdf.decode(recipe, batch, self.file(batch), arrays) for batch in done}
        every = [json.loads(text) for text in sorted(made)]
        inner = {dim for variable in chosen.values() for dim in variable.dims}
        dataset = xarray.Dataset(
            coords=_coordinates(recipe, inner),
            attrs={
                "recipe": recipe.to_json(),
                "versions": json.dumps(every[0] if len(every) == 1 else every),
            },
        )
        for name, variable in chosen.items():
            dims = (*recipe.points, "run", *variable.dims)
            shape = (*recipe.shape, *shapes[name][1:])
            array = xarray.DataArray(arrays[name].reshape(shape), dims=dims)
            order = [*recipe.points, *(d for d in dims if d == recipe.observer), "run", ...]
            dataset[name] = array.transpose(*order)
            dataset[name].attrs["long_name"] = variable.about
        return dataset


def _coordinates(recipe: Recipe, inner: set[str]) -> dict[str, Any]:
    """Labels of all dimensions; `inner` are those of single runs."""
    known = {
        "time": np.array(recipe.times),
        "token": np.arange(recipe.sizes["token"]),
        "axis": np.arange(recipe.sizes["axis"]),
        "kind": list(KINDS),
        "plateau": list(PLATEAUS),
        recipe.observer: list(recipe.axes[recipe.observer].labels),
    }
    outer = {name: list(axis.labels) for name, axis in recipe.points.items()}
    return {**outer, "run": np.arange(recipe.runs), **{d: known[d] for d in known if d in inner}}


def _recorded(folder: Path) -> Recipe | None:
    """The recipe that a store was begun with."""
    path = folder / RECIPE
    try:
        return Recipe.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, InputError) as error:
        raise InputError(
            f"cannot read {path} ({error}); if it is not of an ensemble, give another store"
        ) from None


def _cannot_write(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {path}: {error.strerror or error}")
