"""Turn the arguments of `ensemble` into a `Recipe`: checks and defaults."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.numbers import counted
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.model.model import Model
from parkade.solve.options import NOISY_TOL, TOL, Options
from parkade.sweeps import grid, laws
from parkade.sweeps.grid import Axis
from parkade.sweeps.measures import MEASURES
from parkade.sweeps.recipe import Recipe

_LARGEST_BATCH, _LEAST_BATCHES = 50, 32  # by default, if there are enough runs
_N, _C, _TIMES = 200, 4.0, 60  # defaults
_MOST_TIMES = 1_000_000
_SEEDS = 2**128
_TOKEN, _BATCH = 160.0, 3000.0  # bytes per coordinate in a run, and per batch in a queue


def make(model: Any, parameters: dict[str, Any], settings: Mapping[str, Any]) -> Recipe:
    """Check the arguments, fill in the defaults, and return the recipe.

    `settings` has the entries of `recipe.SETTINGS`.
    """
    values = {name: value for name, value in parameters.items() if value is not None}
    models: tuple[Model, ...] = ()
    plain = isinstance(model, Attention) and not (model.noise and model.noise.common)
    if plain:  # its parameters can be replaced and swept
        values = {**_arguments(model), **values}
    elif model is not None:
        models = _models(model)
        values = _with_models(model, models, values)
    if "c" in values and "delta" in values:
        raise InputError("got both c (δ = cβ^{-1/2}) and delta; give only one")
    names, radius, batch = _measures(settings["measure"]), settings["radius"], settings["batch"]
    _check_effect({*values, *([] if radius is None else ["radius"])}, names)
    axes = _axes(values if models else _with_parts(values))
    end, seed = check.final_time(settings["t_end"]), settings["seed"]
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(
            f"seed must be a whole number ≥ 0, got {check.brief(seed)}: it identifies the ensemble"
        )
    if seed >= _SEEDS:
        raise InputError(f"seed must be below 2^128, got {check.brief(seed)}")
    noisy = "noise" in axes or any(one.noise for one in models)
    default_tol = NOISY_TOL if noisy else TOL
    recipe = Recipe(
        axes=axes,
        runs=check.positive_int("runs", settings["runs"]),
        t_end=end,
        seed=int(seed),
        times=tuple(_times(settings["times"], end).tolist()),
        measure=names,
        radius=None if radius is None else check.positive("radius", radius),
        tol=check.positive("tol", settings["tol"] if settings["tol"] is not None else default_tol),
        batch=_LARGEST_BATCH if batch is None else check.positive_int("batch", batch),
        sums=check.choice("sums", settings["sums"], ("auto", "direct", "harmonic")),
        models=models,
    )
    if batch is None:
        size = min(_LARGEST_BATCH, -(-recipe.total // _LEAST_BATCHES))
        recipe = dataclasses.replace(recipe, batch=size)
    _check_memory(recipe)
    Options(end, "final", recipe.tol)  # checks tol
    return recipe


def _arguments(model: Attention) -> dict[str, Any]:
    """The arguments of an `Attention`, by name."""
    return {name: str(value) if name == "mask" else value for name, value in model.data().items()}


def _models(model: Any) -> tuple[Model, ...]:
    """The models of an argument that is a model, a list, or a dictionary."""
    several = isinstance(model, (list, tuple, dict))
    models = tuple(model.values() if isinstance(model, dict) else model) if several else (model,)
    for one in models:
        if not isinstance(one, Model):
            raise InputError(
                f"model must be a parkade model such as pk.Attention, got {type(one).__name__}"
            )
    if len({one.d for one in models}) != 1:
        raise InputError(
            "all models must have the same dimension, got several; run one ensemble for each"
        )
    return models


def _with_models(model: Any, models: tuple[Model, ...], values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a grid whose model is not an `Attention`."""
    wrong = [name for name in (*grid.ATTENTION, *grid.PARTS) if name in values]
    if wrong:
        raise InputError(
            f"{wrong[0]} applies to Attention only, got a model of another kind; omit it"
        )
    if values.get("d", models[0].d) != models[0].d:
        raise InputError(f"d must be {models[0].d} like the model's, got {values['d']}")
    return {**values, "model": model, "d": models[0].d}


def _with_parts(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an attention model or a transformer, with defaults."""
    defaults = {"beta": 1.0, "V": "I", "Q": "I", "K": "I", "mask": "causal"}
    if "heads" in values:
        wrong = [name for name in grid.MATRICES if name in values]
        if wrong:
            raise InputError(
                f"{wrong[0]} is for one head, but heads={check.brief(values['heads'])} are random "
                "ones; omit one of them"
            )
        defaults = {name: defaults[name] for name in ("beta", "mask")}
    elif "d_head" in values:
        raise InputError("d_head is the rank of random heads; give heads as well")
    # Recipes omit these defaults, so that those of stores of older versions are the same.
    omitted = {k for k, default in grid.DEFAULTS.items() if _is_same(values.get(k), default)}
    return {**defaults, **{k: v for k, v in values.items() if k not in omitted}}


def _is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _measures(measure: Any) -> tuple[str, ...]:
    """Names of measures, in the order of their registry."""
    names = list(measure) if isinstance(measure, (list, tuple, set)) else [measure]
    for name in names:
        check.choice("measure", name, tuple(MEASURES))
    if not names:
        raise InputError(f"measure must name at least one of {', '.join(MEASURES)}")
    return tuple(name for name in MEASURES if name in names)


def _check_effect(values: Collection[str], measured: tuple[str, ...]) -> None:
    """Raise an error if a parameter has no effect on anything that is measured."""
    for name in (*grid.OBSERVERS, "radius"):
        users = [m for m in MEASURES if name in MEASURES[m].observes] or ["consumption"]
        if name in values and not set(users) & set(measured):
            other = "; clusters have cluster_radius" if name == "radius" else ""
            raise InputError(
                f"{name} has no effect on {', '.join(measured)}, only on {' or '.join(users)}; "
                f"measure that as well, or omit {name}{other}"
            )


def _axes(values: dict[str, Any]) -> dict[str, Axis]:
    """The axes of all parameters in order; matrices must have the dimension of the grid."""
    values.setdefault("start", "uniform")
    if "delta" not in values:
        values.setdefault("c", _C)
    axes = {name: grid.axis(name, values[name]) for name in grid.PARAMETERS if name in values}
    tokens = [s for value in axes["start"].values if (s := laws.explicit_size(value)) is not None]
    if "d" not in axes:
        square = [m for m in grid.MATRICES if m in axes]
        sizes = {len(v) for m in square for v in axes[m].values if isinstance(v, list)}
        sizes |= {d for _, d in tokens}
        if len(sizes) != 1:
            got = ", ".join(map(str, sorted(sizes))) or "none"
            raise InputError(f"Q, K, V and start must imply one dimension, got {got}; give d")
        axes["d"] = grid.axis("d", sizes.pop())
    if "n" not in axes:
        axes["n"] = grid.fixed("n", tokens[0][0] if tokens else _N)
    for n, d in tokens:
        if axes["n"].values != (n,) or axes["d"].values != (d,):
            raise InputError(
                f"start gives {counted(n, 'token')} in d={d}, so n and d must be these, got "
                f"n={check.brief_json(axes['n'].data())}, d={check.brief_json(axes['d'].data())}"
            )
    for name in (m for m in grid.MATRICES if m in axes):
        for d in axes["d"].values:
            refined = grid.axis(name, values[name], d)
        if len(axes["d"].values) == 1:
            axes[name] = refined
    return {name: axes[name] for name in grid.PARAMETERS if name in axes}


def _times(times: Any, t_end: float) -> Array:
    """Output times: an array, {from, to, count} in equal ratios, or the default."""
    if times is None:
        first = min(0.1, t_end / 10)
        return np.concatenate([[0.0], _geometric(first, t_end, _TIMES)])
    if not isinstance(times, dict):
        wanted = check.times(times, t_end)
        _check_count(len(wanted))
        return wanted
    if set(times) != {"from", "to", "count"}:
        got = check.brief(list(times))
        raise InputError(f"times must have the keys from, to, count, got {got}")
    count = _check_count(check.positive_int("count of times", times["count"]))
    first, last = (check.positive(f"{key} of times", times[key]) for key in ("from", "to"))
    return check.times(_geometric(first, last, count), t_end)


def _check_count(count: int) -> int:
    if count > _MOST_TIMES:
        raise InputError(f"there can be at most {_MOST_TIMES} times, got {count}; use fewer")
    return count


def _check_memory(recipe: Recipe) -> None:
    """Raise an error if a run, a batch, or the list of all batches does not fit in memory."""
    sizes, batch = recipe.sizes, min(recipe.batch, recipe.total)
    n, d = sizes["token"], sizes["axis"]
    check.fits_in_memory(_TOKEN * n * d, f"a run of {counted(n, 'token')} in d={d}", "lower n or d")
    heads = max(recipe.axes["heads"].values) if "heads" in recipe.axes else 1
    check.fits_in_memory(24.0 * d * d * heads, f"a model in d={d}", "lower d")
    for value in recipe.axes["start"].values:
        if value[0] == "mixture":
            check.fits_in_memory(32.0 * value[1] * d, f"a mixture of {value[1]}", "use fewer")
    size = sum(math.prod(sizes[dim] for dim in v.dims) for v in recipe.variables.values())
    remedy = "measure less, at fewer times, or set batch to a smaller number"
    check.fits_in_memory(
        16.0 * batch * size, f"measuring a batch of {counted(batch, 'run')}", remedy
    )
    what = (
        f"a list of {counted(recipe.batches, 'batch')}, for {counted(recipe.total, 'simulation')},"
    )
    check.fits_in_memory(_BATCH * recipe.batches, what, "use fewer runs or a larger batch")


def _geometric(first: float, last: float, count: int) -> Array:
    """Times in equal ratios, clipped because numpy may overshoot by rounding."""
    inside: Array = np.minimum(np.geomspace(first, last, count), last)
    return inside
