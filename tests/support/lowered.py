"""A problem as an engine in a page gets it: arrays in a frame, for `page/compute/engine.js`."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.engine.field.field import EVERYTHING, Field
from parkade.explorer.settings.rules import DIMENSIONS
from parkade.model.transformer import Transformer
from parkade.solve.lowering.brownian import first_step, noise_of
from parkade.solve.lowering.frame import Frame
from parkade.solve.lowering.handover import first_time
from parkade.solve.lowering.lower import prepare, prepare_field
from parkade.solve.options import Problem
from parkade.solve.planning.plan import Plan, choose
from parkade.solve.solver import Solver, first_state


def engine(method: str, d: int | None = None) -> bytes:
    """The WebAssembly module of an engine, or of that for transformers; see packaging/wasm."""
    plain = d in DIMENSIONS and method in ("explicit", "implicit")
    if not plain and (d is not None or method not in ("explicit", "implicit", "splitting")):
        raise InputError(
            f"pages compute explicit and implicit runs with d = 2 or 3, got {method} with d = {d}; "
            "use parkade explore"
        )
    return module(f"{method}{'field' if d is None else d}")


def module(name: str) -> bytes:
    """A WebAssembly module by its name in packaging/wasm/build.py."""
    return files("parkade.explorer").joinpath(f"engines/{name}.wasm").read_bytes()


def lowered(solver: Solver, x0: Array, seed: int = 0) -> dict[str, Any]:
    """What a solver computes from tokens, as numbers and flat lists; noise comes from the seed."""
    problem, plan = replace(solver.problem, seed=seed), solver.plan(len(x0))
    if problem.model.d not in DIMENSIONS:
        raise InputError(f"pages compute d = 2 and 3, got d={problem.model.d}; use parkade explore")
    state = first_state(problem.model, x0)
    if not plan.pieces:
        return _model(plan, problem, state, problem.options.t_end)
    models = []
    for piece, end in zip(plan.pieces, plan.ends, strict=True):
        one = replace(piece, seed=seed)
        models.append(_model(choose(one, len(x0)), one, state, end))
    return {"method": plan.method, "d": problem.model.d, "pieces": models}


def _model(plan: Plan, problem: Problem, state: Array, end: float) -> dict[str, Any]:
    """One model, which ends at a time of the run."""
    frame, options = plan.frame, problem.options
    if plan.kernel == "naive":
        raise InputError(
            f"pages have no engine for {problem.model.label}"
            f"{' with frozen tokens' if len(problem.fixed.tokens) else ''}; use parkade explore"
        )
    d, late = problem.model.d, first_time(problem.start, options.t_end, frame.drifts)
    common = {
        "method": plan.method,
        "d": d,
        "columns": state.shape[1],
        "tokens": _flat(np.concatenate([frame.enter(state[:, :d]), state[:, d:]], axis=1)),
        "times": [late, problem.start, end],
        "t_end": late + options.t_end,
        "tol": options.tol,
        "rests": options.rest and frame.attracts,
    }
    if plan.kernel == "field":
        return common | _field(problem, frame, late)
    return common | _system(plan, problem, frame)


def _system(plan: Plan, problem: Problem, frame: Frame) -> dict[str, Any]:
    """A model with one plain head."""
    fixed, sums = problem.fixed, plan.sums
    if sums.lengths is not None:
        raise InputError("pages have no harmonic sums for this Q and K; use sums='direct'")
    system = prepare(problem.model, fixed.tokens, fixed.weights, frame, sums.table, sums.accuracy)
    return {
        "query": _flat(system.query),
        "value": _flat(system.value),
        "own_value": _flat(system.own_value),
        "frozen": _flat(system.frozen),
        "frozen_weights": _flat(system.frozen_weights),
        "causal": system.causal,
        "table": None
        if sums.table is None
        else {"rows": len(sums.table), "values": _flat(sums.table)},
        "accuracy": system.accuracy,
        "floor": system.floor,
        "stretch": _finite(system.stretch),
    }


def _field(problem: Problem, frame: Frame, late: float) -> dict[str, Any]:
    """The data of a transformer for the kernels."""
    model, options = problem.model, problem.options
    assert isinstance(model, Transformer)
    field = prepare_field(model, frame, problem.start - late)
    arrays: dict[str, Any] = {"field": {name: _part(field, name) for name in Field._fields}}
    del arrays["field"]["table"]
    if problem.noisy:
        noise = noise_of(model, problem.seed, problem.piece)
        arrays["noise"] = {
            **noise._asdict(),
            "key": [int(word) for word in noise.key],
            "wanted": _flat(problem.wanted),
            "step": first_step(model, noise, options.tol, options.t_end),
        }
    return arrays


def _part(field: Field, name: str) -> Any:
    value = getattr(field, name)
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": _flat(value)}
    if value == EVERYTHING:
        return None
    return _finite(float(value)) if isinstance(value, float) else value


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _flat(values: Array) -> list[float]:
    return [float(value) for value in np.asarray(values).reshape(-1)]
