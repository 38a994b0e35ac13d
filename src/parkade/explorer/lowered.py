"""A problem as an engine in a page gets it: arrays in a frame, ready for `page/engine.js`."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Any

import numpy as np

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.solve.lower import plain_head, prepare
from parkade.solve.solver import Solver

DIMENSIONS = (2, 3)
"""Those that pages have engines for."""


def engine(method: str, d: int) -> bytes:
    """The WebAssembly module of an engine; see packaging/wasm."""
    if d not in DIMENSIONS or method not in ("explicit", "implicit"):
        raise InputError(
            f"pages compute explicit and implicit runs with d = 2 or 3, got {method} with d = {d}; "
            "use parkade explore"
        )
    return module(f"{method}{d}")


def module(name: str) -> bytes:
    """A WebAssembly module by its name in packaging/wasm/build.py."""
    return files("parkade.explorer").joinpath(f"engines/{name}.wasm").read_bytes()


def lowered(solver: Solver, x0: Array) -> dict[str, Any]:
    """What a solver computes from a start, as numbers and flat lists."""
    problem, plan = solver.problem, solver.plan(len(x0))
    if plain_head(problem) is None or plan.frame is None or plan.pieces:
        raise InputError(
            f"pages compute models with a single attention head, got {problem.model.label}; "
            "use parkade explore"
        )
    if plan.sums.lengths is not None:
        raise InputError("pages have no harmonic sums for this Q and K; use sums='direct'")
    fixed, sums = problem.fixed, plan.sums
    system = prepare(
        problem.model, fixed.tokens, fixed.weights, plan.frame, sums.table, sums.accuracy
    )
    return {
        "method": plan.method,
        "d": problem.model.d,
        "tokens": _flat(plan.frame.enter(x0)),
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
        "stretch": system.stretch if math.isfinite(system.stretch) else None,
        "t_end": problem.options.t_end,
        "tol": problem.options.tol,
    }


def _flat(values: Array) -> list[float]:
    return [float(value) for value in np.asarray(values).reshape(-1)]
