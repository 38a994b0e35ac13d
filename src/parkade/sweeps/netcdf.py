"""The file of one batch of an ensemble: arrays in netCDF-4, with recipe and versions."""

from __future__ import annotations

import functools
import json
import platform
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade import forks
from parkade.errors import ParkadeError
from parkade.sweeps.measures import Variable
from parkade.sweeps.recipe import Recipe

# The netCDF library bears one thread at a time.
_LOCK = threading.RLock()
forks.wait_for(_LOCK)

_TRUST = Variable((), "f8", "time until which a run can be trusted")


def variables(recipe: Recipe) -> dict[str, Variable]:
    """What a file holds of each simulation."""
    return {**recipe.variables, "trusted_until": _TRUST}


def versions() -> dict[str, str]:
    """Versions of what decides about the bits of a result."""
    from parkade import __version__

    installed = {name: _version(name) for name in ("numpy", "numba")}
    return {"parkade": __version__, **installed, "python": platform.python_version()}


@functools.cache
def _version(name: str) -> str:
    return metadata.version(name)


def encode(recipe: Recipe, batch: int, arrays: dict[str, NDArray[Any]]) -> memoryview:
    """The bytes of the file of a batch."""
    import netCDF4

    places = [recipe.place(index) for index in recipe.members(batch)]
    with _LOCK:
        file = netCDF4.Dataset("batch.nc", "w", memory=2**16)
        file.createDimension("simulation", len(places))
        for name in places[0]:
            column = np.array([place[name] for place in places])
            text = column.dtype.kind == "U"
            target = file.createVariable(name, str if text else column.dtype, ("simulation",))
            target[:] = column.astype(object) if text else column
        for name, variable in variables(recipe).items():
            for dim in variable.dims:
                if dim not in file.dimensions:
                    file.createDimension(dim, recipe.sizes[dim])
            dims = ("simulation", *variable.dims)
            target = file.createVariable(name, variable.dtype, dims, fill_value=False)
            target.setncattr_string("long_name", variable.about)
            target[:] = arrays[name]
        file.setncattr_string("recipe", recipe.to_json())
        file.setncattr_string("versions", json.dumps(versions()))
        file.setncattr("batch", batch)
        encoded: memoryview = file.close()
    return encoded


def decode(recipe: Recipe, batch: int, path: Path, arrays: dict[str, NDArray[Any]]) -> str:
    """Read the file of a batch into its place in the `arrays`; return its versions."""
    import netCDF4

    members = recipe.members(batch)
    try:
        data = path.read_bytes()
        with _LOCK, netCDF4.Dataset("batch.nc", memory=data) as file:
            file.set_auto_mask(False)
            different = Recipe.from_json(file.recipe).differences(recipe)
            if file.batch != batch:
                different.append(f"batch number (in the store {file.batch}, asked {batch})")
            for name, array in arrays.items() if not different else ():
                array[members.start : members.stop] = file[name][:]
            made: str = file.versions
    except (OSError, AttributeError, IndexError, KeyError, ValueError) as error:
        raise ParkadeError(
            f"cannot read {path} ({error}); delete it and run the ensemble again, which makes it "
            "anew"
        ) from None
    if different:
        raise ParkadeError(
            f"{path} belongs to another ensemble: {'; '.join(different)}; move it away"
        )
    return made
