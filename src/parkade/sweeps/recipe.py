"""`Recipe`: everything that determines what an ensemble computes, as checked data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from parkade.analysis.centers import consumption_radius, separation
from parkade.analysis.merging import default_radius
from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.model.matrices import gaussian
from parkade.model.model import Model, from_dict
from parkade.model.parts.head import Head
from parkade.model.parts.mlp import MLP
from parkade.model.transformer import Transformer
from parkade.solve.options import SumsOption
from parkade.solve.solver import new_seed
from parkade.sweeps import grid, laws
from parkade.sweeps.grid import Axis
from parkade.sweeps.measures import MEASURES, TRUST, Variable

FORMAT = "parkade ensemble 1"

SETTINGS = ("runs", "t_end", "seed", "times", "measure", "radius", "tol", "batch", "sums")
"""The entries of a recipe besides the axes of its grid."""


class Simulation(NamedTuple):
    """One run of an ensemble, ready to start."""

    model: Model
    tokens: Array
    deltas: tuple[float, ...]
    radius: float
    cluster_radii: tuple[float, ...]
    seed: int | None  # of the noise


@dataclass(frozen=True, eq=False)
class Recipe:
    """What an ensemble computes.

    Attributes
    ----------
    axes : dict
        Parameters by name, in the order of the dimensions: see `parkade.sweeps.grid`.
    runs : int
        Independent runs at every point of the grid.
    t_end, tol : float
    seed : int
    times : tuple of float
    measure : tuple of str
        As in `ensemble`.
    radius : float or None
        The radius within which centres consume tokens; None for `consumption_radius`.
    batch : int
        Number of runs in one file of the store.
    sums : str
        As in `simulate`; stores without this entry were made with direct sums.
    """

    axes: dict[str, Axis]
    runs: int
    t_end: float
    seed: int
    times: tuple[float, ...]
    measure: tuple[str, ...]
    radius: float | None
    tol: float
    batch: int
    sums: SumsOption = "direct"
    models: tuple[Model, ...] = ()
    """The models as objects: a function, for example, cannot be stored in a file."""

    @property
    def dense(self) -> bool:
        """Whether any of the measures needs every step of a run."""
        return any(MEASURES[name].dense for name in self.measure)

    @cached_property
    def points(self) -> dict[str, Axis]:
        """The axes of the simulations: all swept parameters except observers."""
        names = (p for p in self.axes if p not in grid.OBSERVERS)
        return {name: self.axes[name] for name in names if self.axes[name].swept}

    @cached_property
    def observers(self) -> dict[str, Axis]:
        """The swept parameters that change what is measured, not what is simulated."""
        names = (p for p in grid.OBSERVERS if p in self.axes)
        return {name: self.axes[name] for name in names if self.axes[name].swept}

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes of the simulations, and the number of runs."""
        return (*(len(axis.values) for axis in self.points.values()), self.runs)

    @property
    def total(self) -> int:
        """The number of simulations."""
        return math.prod(self.shape)

    @property
    def batches(self) -> int:
        """Number of files in a finished store."""
        return -(-self.total // self.batch)

    def members(self, batch: int) -> range:
        """The indices of the simulations in a batch."""
        return range(batch * self.batch, min((batch + 1) * self.batch, self.total))

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """The variables of all measures and `trusted_until`, with their dimensions in one run."""
        variables = {}
        for name in self.measure:
            swept = [p for p in MEASURES[name].observes if p in self.observers]
            for key, variable in MEASURES[name].variables.items():
                variables[key] = variable._replace(dims=(*swept, *variable.dims))
        return {**variables, "trusted_until": TRUST}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The length of each dimension of the variables of one simulation."""
        return {
            "time": len(self.times),
            "token": max(self.axes["n"].values),
            "axis": max(self.axes["d"].values),
            "kind": 2,
            "plateau": 2,
            **{name: len(axis.values) for name, axis in self.observers.items()},
        }

    def shapes(self, count: int) -> dict[str, tuple[int, ...]]:
        """The shape of the array of each variable, for this number of simulations."""
        return {
            name: (count, *(self.sizes[dim] for dim in variable.dims))
            for name, variable in self.variables.items()
        }

    def place(self, index: int) -> dict[str, Any]:
        """The labels of simulation number `index`: its swept parameters and its run."""
        where = np.unravel_index(index, self.shape)
        names = {
            name: a.labels[i] for (name, a), i in zip(self.points.items(), where, strict=False)
        }
        return {**names, "run": int(where[-1])}

    def simulation(self, index: int) -> Simulation:
        """Draw simulation number `index`, which depends on the recipe and this number alone."""
        where, value, run = self._point(index)
        model = self._model(where, value, run)
        beta = model.sharpness if model.beta is None else model.beta
        if "c" in self.axes:
            separations = [separation(c, beta) for c in self.axes["c"].values]
        else:
            separations = list(self.axes["delta"].values)
        linked = self.axes.get("cluster_radius")
        return Simulation(
            model=model,
            tokens=laws.draw_start(
                value["start"], value["n"], value["d"], laws.generator(self.seed, run, "start")
            ),
            # No angle exceeds π, so larger values change nothing.
            deltas=tuple(min(delta, math.pi) for delta in separations),
            radius=consumption_radius(beta) if self.radius is None else min(self.radius, math.pi),
            cluster_radii=(default_radius(model),) if linked is None else linked.values,
            seed=new_seed(laws.generator(self.seed, run, "noise")) if model.noise else None,
        )

    def model(self, index: int) -> Model:
        """The model of simulation number `index`."""
        return self._model(*self._point(index))

    def _point(self, index: int) -> tuple[tuple[int, ...], dict[str, Any], int]:
        """The position of a simulation in the grid, its parameters, and its run number."""
        *where, run = (int(i) for i in np.unravel_index(index, self.shape))
        at = dict(zip(self.points, where, strict=True))
        values = {name: axis.values[at.get(name, 0)] for name, axis in self.axes.items()}
        return tuple(where), values, run

    def _model(self, where: tuple[int, ...], value: dict[str, Any], run: int) -> Model:
        """The model of a run at a point of the grid; all runs share it if nothing is drawn."""
        if "model" in value:
            return self._listed_models[self.axes["model"].values.index(value["model"])]
        if where in self._models:
            return self._models[where]
        d, beta, mask = value["d"], value["beta"], value["mask"]
        matrices = {name: value[name] for name in grid.MATRICES if name in value}
        drawn = [name for name in matrices if laws.is_drawn(matrices[name])]
        for name in drawn:
            matrices[name] = gaussian(d, laws.generator(self.seed, run, name))
        parts = {"norm": value.get("norm", "post"), "mask": mask}
        if math.isfinite(value.get("noise", math.inf)):
            parts["noise"] = value["noise"]
        if width := value.get("mlp", 0):
            parts["mlp"] = MLP.random(d, width, laws.generator(self.seed, run, "mlp"))
        model: Model
        if "heads" in value:
            rng = laws.generator(self.seed, run, "heads")
            random = {"d": d, "d_head": value.get("d_head"), "beta": beta, "seed": rng}
            model = Transformer(value["heads"], **random, **parts)
        elif set(value) & set(grid.PARTS):
            model = Transformer([Head(**matrices, beta=beta, d=d)], **parts)
        else:
            model = Attention(d, beta, **matrices, mask=mask)
        if not (drawn or width or "heads" in value):
            self._models[where] = model
        return model

    @cached_property
    def _models(self) -> dict[tuple[int, ...], Model]:
        return {}

    @cached_property
    def _listed_models(self) -> tuple[Model, ...]:
        """The models of the grid, read from their data if there are no objects."""
        return self.models or tuple(from_dict(data) for data in self.axes["model"].values)

    def to_json(self) -> str:
        """The recipe as one JSON object."""
        data = {"format": FORMAT, **{name: axis.data() for name, axis in self.axes.items()}}
        for name in SETTINGS:
            data[name] = getattr(self, name)
        return json.dumps(data, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Recipe:
        """A recipe written by `to_json`."""
        try:
            data = json.loads(text)
            if data.pop("format") != FORMAT:
                raise InputError(f"it is not a {FORMAT} recipe; use the version that wrote it")
            names = [name for name in grid.PARAMETERS if name in data]
            axes = {name: grid.from_data(name, data.pop(name)) for name in names}
            data["times"], data["measure"] = tuple(data["times"]), tuple(data["measure"])
            recipe = Recipe(axes=axes, **data)
            recipe._check()
        except (
            ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError
        ) as error:  # fmt: skip
            raise InputError(f"it is not a {FORMAT} recipe ({check.reason(error)})") from None
        return recipe

    def _check(self) -> None:
        """Raise an error if the recipe is not valid: its text may be damaged."""
        if set(self.axes) - set(grid.OBSERVERS) != {*self._of_model(), "n", "d", "start"}:
            raise InputError("parameters are missing")
        if len(set(self.axes) & set(grid.SEPARATIONS)) != 1:
            raise InputError("it has both c and delta, or neither")
        for name, axis in self.axes.items():
            pairs = dict(zip(axis.labels, axis.values, strict=True))
            for d in self.axes["d"].values:
                grid.axis(name, pairs if name in grid.LABELLED else list(axis.values), d)
        for start in self.axes["start"].values:
            size = laws.explicit_size(start)
            if size and size != (*self.axes["n"].values, *self.axes["d"].values):
                raise InputError("start does not have n tokens in d dimensions")
        check.positive_int("runs", self.runs)
        check.positive("t_end", self.t_end)
        if type(self.seed) is not int or self.seed < 0:
            raise InputError(f"seed must be a whole number ≥ 0, got {check.brief_json(self.seed)}")
        check.times(self.times, self.t_end)
        if not self.measure or set(self.measure) - set(MEASURES):
            raise InputError(f"measure must name some of {', '.join(MEASURES)}")
        if self.radius is not None:
            check.positive("radius", self.radius)
        check.positive("tol", self.tol)
        check.positive_int("batch", self.batch)
        check.choice("sums", self.sums, ("auto", "direct", "harmonic"))

    def _of_model(self) -> set[str]:
        """The names of the model's parameters; random heads have no Q, K and V."""
        if "model" in self.axes:
            return {"model"}
        parts = set(self.axes) & set(grid.PARTS)
        if "heads" in parts:
            return parts | set(grid.ATTENTION) - set(grid.MATRICES)
        return (parts - {"d_head"}) | set(grid.ATTENTION)

    def differences(self, other: Recipe) -> list[str]:
        """The parameters that differ, each with its value here and in the other recipe."""
        here, there = json.loads(self.to_json()), json.loads(other.to_json())
        pairs = {name: (here.get(name), there.get(name)) for name in {**here, **there}}
        return [
            f"{name} ({check.brief_json(a)} in the store, {check.brief_json(b)} requested)"
            for name, (a, b) in pairs.items()
            if a != b
        ]
