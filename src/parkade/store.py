"""Where an ensemble is kept: a directory with one netCDF file for each batch of runs.

A file appears whole or not at all, and a file that exists is done; that is all the state
there is. Every file holds the recipe and the versions it was made with.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import threading
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade import check
from parkade.errors import InputError, ParkadeError
from parkade.files import atomic_write, directory
from parkade.measures import KINDS, PLATEAUS, Variable
from parkade.recipe import Recipe

if TYPE_CHECKING:
    import xarray

RECIPE = "recipe.json"
_BATCH = re.compile(r"batch-(\d{6,})\.nc")
_UNFINISHED = re.compile(r"\.(batch-\d{6,}\.nc|recipe\.json)\..{8}")
_ABANDONED = 3600.0  # seconds after which an unfinished file has nobody who writes it

# The netCDF library bears one thread at a time.
_LOCK = threading.Lock()

_TRUST = Variable((), "f8", "time until which a run can be trusted")


def versions() -> dict[str, str]:
    """Versions of what decides about the bits of a result."""
    from parkade import __version__

    installed = {name: _version(name) for name in ("numpy", "numba")}
    return {"parkade": __version__, **installed, "python": platform.python_version()}


@functools.cache
def _version(name: str) -> str:
    return metadata.version(name)


class StoreError(ParkadeError):
    """A store cannot be written."""


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
        for name in os.listdir(self.path):
            leftover = self.path / name
            if _UNFINISHED.fullmatch(name) and _age(leftover) > _ABANDONED:
                leftover.unlink(missing_ok=True)  # its writer was killed
        if not (self.path / RECIPE).exists():
            try:
                with atomic_write(self.path / RECIPE) as file:
                    file.write(self.recipe.to_json().encode())
            except OSError as error:
                raise _cannot_write(self.path / RECIPE, error) from None

    def write(self, batch: int, arrays: dict[str, NDArray[Any]]) -> Path:
        """Write the file of a batch."""
        data = self._encode(batch, arrays)
        try:
            with atomic_write(self.file(batch)) as file:
                file.write(data)
        except OSError as error:
            raise _cannot_write(self.file(batch), error) from None
        return self.file(batch)

    def _encode(self, batch: int, arrays: dict[str, NDArray[Any]]) -> memoryview:
        import netCDF4

        recipe = self.recipe
        places = [recipe.place(index) for index in recipe.members(batch)]
        with _LOCK:
            file = netCDF4.Dataset("batch.nc", "w", memory=2**16)
            file.createDimension("simulation", len(places))
            for name in places[0]:
                column = np.array([place[name] for place in places])
                kind = str if column.dtype.kind == "U" else column.dtype
                column = column.astype(object) if kind is str else column
                file.createVariable(name, kind, ("simulation",))[:] = column
            for name, variable in self._variables().items():
                for dim in variable.dims:
                    if dim not in file.dimensions:
                        file.createDimension(dim, recipe.sizes[dim])
                dims = ("simulation", *variable.dims)
                target = file.createVariable(name, variable.dtype, dims, fill_value=False)
                target.setncattr_string("long_name", variable.about)
                target[:] = arrays[name]
            file.setncattr_string("recipe", recipe.to_json())
            file.setncattr_string("versions", json.dumps(versions()))
            encoded: memoryview = file.close()
        return encoded

    def _variables(self) -> dict[str, Variable]:
        return {**self.recipe.variables, "trusted_until": _TRUST}

    def _decode(self, batch: int, arrays: dict[str, NDArray[Any]]) -> str:
        """Read the file of a batch into its place in the `arrays`; return its versions."""
        import netCDF4

        path = self.file(batch)
        members = self.recipe.members(batch)
        try:
            data = path.read_bytes()
            with _LOCK, netCDF4.Dataset("batch.nc", memory=data) as file:
                file.set_auto_mask(False)
                theirs = Recipe.from_json(file.recipe)
                different = theirs.differences(self.recipe)
                for name, array in arrays.items() if not different else ():
                    array[members.start : members.stop] = file[name][:]
                made: str = file.versions
        except (OSError, AttributeError, IndexError, KeyError, ValueError) as error:
            raise ParkadeError(
                f"cannot read {path} ({error}); delete it and run the ensemble again, which "
                "makes it anew"
            ) from None
        if different:
            raise ParkadeError(
                f"{path} belongs to another ensemble: {'; '.join(different)}; move it away"
            )
        return made

    def read(self, *, partial: bool = False) -> xarray.Dataset:
        """All runs as one Dataset; if `partial`, with NaN for those not done yet."""
        import xarray

        recipe, done = self.recipe, self.done()
        missing = recipe.batches - len(done)
        if missing and not partial:
            raise ParkadeError(
                f"{missing} of {recipe.batches} batches are missing in {self.path}; run the "
                "ensemble again to go on, or read what there is with partial=True"
            )
        variables = self._variables()
        shapes = {
            name: (recipe.total, *(recipe.sizes[dim] for dim in variable.dims))
            for name, variable in variables.items()
        }
        size = 8.0 * sum(np.prod(shape, dtype=float) for shape in shapes.values())
        check.fits_in_memory(size, f"the ensemble in {self.path}", "read its files one by one")
        arrays: dict[str, NDArray[Any]] = {
            name: np.full(shape, np.nan) if missing else np.empty(shape, variables[name].dtype)
            for name, shape in shapes.items()
        }
        made = {self._decode(batch, arrays) for batch in done}
        every = [json.loads(text) for text in sorted(made)]
        inner = {dim for variable in variables.values() for dim in variable.dims}
        dataset = xarray.Dataset(
            coords=_coordinates(recipe, inner),
            attrs={
                "recipe": recipe.to_json(),
                "versions": json.dumps(every[0] if len(every) == 1 else every),
            },
        )
        for name, variable in variables.items():
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


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # somebody else took it away
        return 0.0


def _cannot_write(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {path}: {error.strerror or error}")
