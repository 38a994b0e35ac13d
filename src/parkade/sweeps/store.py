"""The store of an ensemble: a directory with one netCDF file for each batch of runs.

Files are written atomically, and a batch whose file exists is done; there is no other state.
Every file contains the recipe, the versions that made it, and a checksum.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import DamagedError, InputError, ParkadeError, StoreError
from parkade.base.files import atomic_write, directory, from_json, sweep, to_json
from parkade.sweeps import netcdf
from parkade.sweeps.recipe import Recipe
from parkade.sweeps.results import Results, allocate
from parkade.sweeps.versions import distinct

RECIPE = "recipe.json"
_BATCH = re.compile(r"batch-(\d{6,})\.nc")
_NAMED = 3  # number of damaged files named in a message


class Store:
    """The files of an ensemble with this recipe."""

    def __init__(self, path: str | os.PathLike[str], recipe: Recipe) -> None:
        self.path = Path(path)
        self.recipe = recipe

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Store:
        """The store at `path`, with its recorded recipe."""
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
        return [batch for batch in self._present() if batch < self.recipe.batches]

    def _present(self) -> list[int]:
        """The batches in the directory, those of a larger ensemble included."""
        names = os.listdir(self.path) if self.path.is_dir() else []
        return sorted(int(match[1]) for name in names if (match := _BATCH.fullmatch(name)))

    def prepare(self) -> None:
        """Create the directory, or check that it contains the same ensemble."""
        directory(self.path)
        sweep(self.path)
        try:
            recorded = _recorded(self.path)
        except InputError:
            # The batches contain the recipe too. Without batches, the file may not be ours.
            if not self._has_batches():
                raise
            self._record(new=False)
            return
        if recorded is None:
            self._has_batches()
            recorded = self._record(new=True)
        self._check_same(recorded)

    def _record(self, *, new: bool) -> Recipe | None:
        """Write the recipe. If it must be `new`, return one that another process wrote first."""
        path = self.path / RECIPE
        try:
            with atomic_write(path, new=new) as file:
                file.write(to_json(json.loads(self.recipe.to_json())))
        except FileExistsError:
            return _recorded(self.path)
        except OSError as error:
            raise _cannot_write(path, error) from None
        return None

    def _check_same(self, recorded: Recipe | None) -> None:
        different = [] if recorded is None else recorded.differences(self.recipe)
        if different:
            raise InputError(
                f"the store {self.path} contains another ensemble: {'; '.join(different)}; "
                "use another store or the same arguments"
            )

    def write(self, batch: int, arrays: dict[str, NDArray[Any]]) -> Path:
        """Write the file of a batch."""
        data, checksum = netcdf.encode(self.recipe, batch, arrays)
        try:
            with atomic_write(self.file(batch)) as file:
                file.write(data)
                file.write(checksum)
        except OSError as error:
            raise _cannot_write(self.file(batch), error) from None
        return self.file(batch)

    def read(self, *, partial: bool = False, variables: Iterable[str] | None = None) -> Results:
        """The results of all runs; if `partial`, with NaN for missing ones."""
        recipe, done = self.recipe, self.done()
        missing = recipe.batches - len(done)
        if missing and not partial:
            raise ParkadeError(
                f"{missing} of {recipe.batches} batches are missing in {self.path}; run the "
                "ensemble again to continue, or read the finished runs with partial=True"
            )
        names = tuple(recipe.variables)
        chosen = names if variables is None else variables
        chosen = [check.choice("variables", name, names) for name in chosen]
        arrays = allocate(recipe, chosen, missing=missing > 0)

        def place(batch: int) -> dict[str, NDArray[Any]]:
            members = recipe.members(batch)
            return {name: array[members.start : members.stop] for name, array in arrays.items()}

        findings = self._decode(done, place)
        if findings.bad:
            raise _unreadable(self.path, findings.bad)
        return Results(recipe, arrays, findings.distinct_versions)

    def versions(self) -> list[dict[str, str]]:
        """The different versions that made the batches; damaged batches are ignored."""
        return self._decode(self.done(), lambda batch: {}).distinct_versions

    def check(self) -> Findings:
        """Read the recipe and every batch, and list the bad ones."""
        recipe = self.recipe
        if not self.path.is_dir():
            raise InputError(f"there is no store {self.path}")
        bad: dict[str, ParkadeError] = {}
        try:
            recorded = _recorded(self.path)
        except InputError as error:
            bad[RECIPE] = error
        else:
            self._check_same(recorded)

        def scratch(batch: int) -> dict[str, NDArray[Any]]:
            shapes = recipe.shapes(len(recipe.members(batch)))
            return {
                name: np.empty(shape, recipe.variables[name].dtype)
                for name, shape in shapes.items()
            }

        findings = self._decode(self.done(), scratch)
        return findings._replace(bad={**bad, **findings.bad})

    def set_aside(self, names: Iterable[str]) -> list[str]:
        """Rename damaged files, so that their batches are computed again; return the new names."""
        aside = []
        for name in names:
            target = self.path / f"{name}.damaged"
            try:
                (self.path / name).replace(target)
            except FileNotFoundError:  # another process has done it
                continue
            except OSError as error:
                raise _cannot_write(target, error) from None
            aside.append(target.name)
        return aside

    def _has_batches(self) -> bool:
        """Whether there are batches; raise an error if one belongs to another ensemble."""
        findings = self._decode(self._present(), lambda batch: {})
        for error in findings.bad.values():
            if not isinstance(error, DamagedError):
                raise _unreadable(self.path, findings.bad)
        return bool(findings.versions)

    def _decode(
        self, batches: list[int], target: Callable[[int], dict[str, NDArray[Any]]]
    ) -> Findings:
        """Read each batch into its arrays; return the versions and the errors."""
        findings = Findings(set(), {})
        files = {batch: self.file(batch) for batch in batches}
        for (batch, file), loaded in zip(
            files.items(), netcdf.load_ahead(files.values()), strict=True
        ):
            try:
                findings.versions.add(netcdf.decode(self.recipe, batch, loaded(), target(batch)))
            except ParkadeError as error:
                findings.bad[file.name] = error
        return findings


class Findings(NamedTuple):
    """The result of reading batches."""

    versions: set[str]
    """The different versions that made them, as JSON objects."""
    bad: dict[str, ParkadeError]
    """The errors of files that cannot be used, by file name."""

    @property
    def distinct_versions(self) -> list[dict[str, str]]:
        """The versions, in a fixed order."""
        return distinct(self.versions)


def _unreadable(folder: Path, bad: dict[str, ParkadeError]) -> ParkadeError:
    """The error for batches that cannot be used."""
    for name, error in bad.items():
        if not isinstance(error, DamagedError):
            return type(error)(f"{folder / name}: {error}")
    named = [f"{name} ({error})" for name, error in list(bad.items())[:_NAMED]]
    named += [f"and {len(bad) - _NAMED} more"] if len(bad) > _NAMED else []
    return DamagedError(
        f"{len(bad)} of the batches in {folder} are damaged: {', '.join(named)}; run the ensemble "
        "again to recompute them",
        bad,
    )


def _recorded(folder: Path) -> Recipe | None:
    """The recorded recipe of a store; None if there is none."""
    path = folder / RECIPE
    try:
        return Recipe.from_json(json.dumps(from_json(path.read_bytes())))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"cannot read {path} ({check.reason(error)}); run its ensemble again to restore it "
            "from the batches, or use another store"
        ) from None


def _cannot_write(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {path}: {error.strerror or error}")
