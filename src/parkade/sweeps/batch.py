"""Run one batch of an ensemble: the task of a worker."""

from __future__ import annotations

import dataclasses
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


class Order(NamedTuple):
    """What a worker needs to run any batch: the recipe as text, and the models.

    Unpickling a model imports the module that defines it.
    """

    recipe: str
    store: str
    models: tuple[Model, ...] = ()


def run_batch(order: Order, batch: int, cancelled: Callable[[], bool] | None = None) -> str:
    """Simulate and measure the runs of a batch, write the file, and return its path."""
    recipe = dataclasses.replace(Recipe.from_json(order.recipe), models=order.models)
    kept = Store(order.store, recipe)
    if not kept.file(batch).exists():  # another process may have been faster
        kept.write(batch, simulate(kept.recipe, batch, cancelled or (lambda: False)))
    return str(kept.file(batch))


def simulate(recipe: Recipe, batch: int, cancelled: Callable[[], bool]) -> dict[str, NDArray[Any]]:
    """The measures of the runs of a batch: arrays with a leading axis of runs."""
    members = recipe.members(batch)
    arrays = {}
    for name, variable in recipe.variables.items():
        shape = (len(members), *(recipe.sizes[dim] for dim in variable.dims))
        empty = 0 if variable.dtype == "i8" else math.nan
        arrays[name] = np.full(shape, empty, dtype=variable.dtype)
    arrays["trusted_until"] = np.empty(len(members))
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
        for name in recipe.measure:
            for key, value in MEASURES[name].function(sample).items():
                found = np.asarray(value)
                if MEASURES[name].observes and found.ndim > len(recipe.variables[key].dims):
                    found = found[0]  # the one value of a parameter that is not swept
                # With fewer tokens or dimensions than the largest of the grid, the rest is NaN.
                places: tuple[int | slice, ...] = (i, *map(slice, found.shape))
                arrays[key][places] = found
    return arrays
