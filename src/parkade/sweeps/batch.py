"""Run one batch of an ensemble: the task of a worker."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import ParkadeError
from parkade.model.model import Model
from parkade.solve.options import Hooks, Options
from parkade.solve.solver import Solver
from parkade.sweeps.measures import MEASURES, Sample
from parkade.sweeps.recipe import Recipe
from parkade.sweeps.store import Store
from parkade.sweeps.versions import versions


class EnsembleJob(NamedTuple):
    """What a worker needs to run any batch: the recipe as text, the models, and the store, if any.

    Unpickling a model imports the module that defines it.
    """

    recipe: str
    models: tuple[Model, ...] = ()
    store: str | None = None


class BatchResult(NamedTuple):
    """The results of the runs of a batch."""

    batch: int
    arrays: dict[str, NDArray[Any]]
    """The variables by name, with a leading axis of runs."""
    versions: str
    """The software versions that made the batch, as a JSON object."""


def run_batch(
    job: EnsembleJob, batch: int, cancelled: Callable[[], bool] | None = None
) -> BatchResult | None:
    """Simulate and measure the runs of a batch; return the result or write it to the store."""
    recipe = dataclasses.replace(Recipe.from_json(job.recipe), models=job.models)
    stop = cancelled or (lambda: False)
    if job.store is None:
        return BatchResult(batch, simulate(recipe, batch, stop), json.dumps(versions()))
    store = Store(job.store, recipe)
    if not store.file(batch).exists():  # another process may have been faster
        store.write(batch, simulate(recipe, batch, stop))
    return None


def simulate(recipe: Recipe, batch: int, cancelled: Callable[[], bool]) -> dict[str, NDArray[Any]]:
    """The measures of the runs of a batch: arrays with a leading axis of runs."""
    members = recipe.members(batch)
    arrays = {}
    for name, shape in recipe.shapes(len(members)).items():
        dtype = recipe.variables[name].dtype
        arrays[name] = np.full(shape, 0 if dtype == "i8" else math.nan, dtype=dtype)
    times = np.array(recipe.times)
    keep = "steps" if recipe.dense else np.union1d(times, [0.0, recipe.t_end])
    options = Options(recipe.t_end, keep, recipe.tol, sums=recipe.sums)
    hooks, solver = Hooks(cancelled=cancelled, alone=False), None
    for i, index in enumerate(members):
        try:
            one = recipe.simulation(index)
            if solver is None or solver.model is not one.model:
                solver = Solver(one.model, options)
            run = solver.run(one.tokens, hooks, seed=one.seed)
        except ParkadeError as error:
            place = ", ".join(f"{k}={v}" for k, v in recipe.place(index).items())
            raise ParkadeError(f"the simulation {place} failed: {error}") from None
        arrays["trusted_until"][i] = run.trusted_until
        sample = Sample(run, times, one.deltas, one.radius, one.cluster_radii)
        for measure in map(MEASURES.__getitem__, recipe.measure):
            for name, values in measure.function(sample).items():
                array = np.asarray(values)
                if measure.observes and array.ndim > len(recipe.variables[name].dims):
                    array = array[0]  # for the one value of a parameter that is not swept
                # With fewer tokens or dimensions than the largest of the grid, the rest is NaN.
                place_of_run: tuple[int | slice, ...] = (i, *map(slice, array.shape))
                arrays[name][place_of_run] = array
    return arrays
