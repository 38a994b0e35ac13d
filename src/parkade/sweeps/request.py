"""From what a user asks for to a `Recipe`: every check of an ensemble, and its defaults."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from parkade import check
from parkade.attention import Attention
from parkade.errors import InputError
from parkade.flow import Job
from parkade.sweeps import grid, laws
from parkade.sweeps.grid import Axis
from parkade.sweeps.measures import MEASURES
from parkade.sweeps.recipe import Recipe, brief
from parkade.types import Array

_MANY_RUNS, _SOME_BATCHES = 50, 32
_N, _C, _TIMES = 200, 4.0, 60


def make(
    model: Attention | None,
    parameters: dict[str, Any],
    *,
    runs: Any,
    t_end: Any,
    seed: Any,
    times: Any,
    measure: Any,
    radius: Any,
    tol: Any,
    batch: Any,
    sums: Any,
) -> Recipe:
    """Check what a user asks for, fill in what was left out, and write it down."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if model is not None:
        if not isinstance(model, Attention):
            raise InputError(f"model must be a parkade.Attention, got {type(model).__name__}")
        theirs = ("d", "beta", *grid.MATRICES, "mask")
        given = {**{name: getattr(model, name) for name in theirs}, **given}
    if "c" in given and "delta" in given:
        raise InputError("give c (δ = cβ^{-1/2}) or delta, not both")
    names = _measures(measure)
    axes = _axes({"beta": 1.0, "V": "I", "Q": "I", "K": "I", "mask": "causal", **given})
    for name in grid.OBSERVERS:
        if name in given and axes[name].swept and not any(MEASURES[m].observes for m in names):
            observers = " or ".join(repr(m) for m in MEASURES if MEASURES[m].observes)
            raise InputError(
                f"{name} is swept, but nothing measured depends on it; add {observers}"
            )
    end = check.positive("t_end", t_end)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number ≥ 0, got {seed!r}: it names the ensemble")
    recipe = Recipe(
        axes=axes,
        runs=check.positive_int("runs", runs),
        t_end=end,
        seed=int(seed),
        times=tuple(_times(times, end).tolist()),
        measure=names,
        radius=None if radius is None else check.positive("radius", radius),
        tol=check.positive("tol", tol),
        batch=_MANY_RUNS if batch is None else check.positive_int("batch", batch),
        sums=check.choice("sums", sums, ("auto", "direct", "harmonic")),
    )
    if batch is None:
        fair = -(-recipe.total // _SOME_BATCHES)
        recipe = dataclasses.replace(recipe, batch=min(_MANY_RUNS, fair))
    Job(Attention(2), end, "final", recipe.tol, "auto", "auto", None, None)  # its checks are ours
    return recipe


def _measures(measure: Any) -> tuple[str, ...]:
    """Names of measures, in the order of their registry."""
    names = [measure] if isinstance(measure, str) else list(measure)
    for name in names:
        check.choice("measure", name, tuple(MEASURES))
    if not names:
        raise InputError(f"measure must name at least one of {', '.join(MEASURES)}")
    return tuple(name for name in MEASURES if name in names)


def _axes(given: dict[str, Any]) -> dict[str, Axis]:
    """All parameters in order, matrices in their dimension."""
    given.setdefault("start", "uniform")
    if "delta" not in given:
        given.setdefault("c", _C)
    axes = {name: grid.axis(name, given[name]) for name in grid.PARAMETERS if name in given}
    tokens = [s for value in axes["start"].values if (s := laws.given_tokens(value)) is not None]
    if "d" not in axes:
        sizes = {len(v) for m in grid.MATRICES for v in axes[m].values if isinstance(v, list)}
        sizes |= {d for _, d in tokens}
        if len(sizes) != 1:
            told = f"they have d={', '.join(map(str, sorted(sizes)))}" if sizes else "none has one"
            raise InputError(f"give d: Q, K, V and start must tell one dimension, but {told}")
        axes["d"] = grid.fixed("d", sizes.pop())
    if "n" not in axes:
        axes["n"] = grid.fixed("n", tokens[0][0] if tokens else _N)
    for n, d in tokens:
        if axes["n"].values != (n,) or axes["d"].values != (d,):
            raise InputError(
                f"start gives {n} tokens in d={d}, so n and d must be these numbers, got "
                f"n={brief(axes['n'].data())}, d={brief(axes['d'].data())}"
            )
    for name in grid.MATRICES:
        for d in axes["d"].values:
            refined = grid.axis(name, given[name], d)
        if len(axes["d"].values) == 1:
            axes[name] = refined
    return {name: axes[name] for name in grid.PARAMETERS if name in axes}


def _times(times: Any, t_end: float) -> Array:
    """Output times: an array, {from, to, count} in equal ratios, or the default."""
    if times is None:
        first = min(0.1, t_end / 10)
        return np.concatenate([[0.0], _geometric(first, t_end, _TIMES)])
    if not isinstance(times, dict):
        return check.times(times, t_end)
    if set(times) != {"from", "to", "count"}:
        raise InputError(f"times must have the keys from, to, count, got {', '.join(times)}")
    count = check.positive_int("count of times", times["count"])
    first, last = (check.positive(f"{key} of times", times[key]) for key in ("from", "to"))
    return check.times(_geometric(first, last, count), t_end)


def _geometric(first: float, last: float, count: int) -> Array:
    """Times in equal ratios; numpy may end one rounding beyond the last."""
    inside: Array = np.minimum(np.geomspace(first, last, count), last)
    return inside
