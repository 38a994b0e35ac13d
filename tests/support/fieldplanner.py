"""Plans of transformers made in a browser, and the runs that follow from them."""

from __future__ import annotations

import base64

import numpy as np

from parkade.explorer.settings.rules import knowledge
from parkade.explorer.settings.settings import FIELDS, Settings
from parkade.solve.options import Hooks, Options, default_tol
from parkade.solve.solver import Solver
from support.lowered import engine, module
from support.wasm import page_script

_LOAD = """([name, text]) => {
  (globalThis.modules ??= {})[name] = new WebAssembly.Module($base64.bytesOf(text));
}"""

_PLAN = """(wanted) => {
  const plain = (value) => {
    if (ArrayBuffer.isView(value)) return [...value].map(plain);
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (Array.isArray(value)) return value.map(plain);
    if (value === null || typeof value !== 'object') return value;
    if (value[Symbol.iterator]) return [...value].map(plain);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  };
  return plain(planner.plan($check.effective(wanted, limits)));
}"""

_FOLLOW = """(wanted) => {
  const { problem, method, columns, frame } = planner.plan($check.effective(wanted, limits));
  const chunks = [...new $engine.Engine(modules[$engine.moduleOf(problem)], shared).run(problem)];
  const last = chunks.at(-1);
  return {
    method,
    basis: [...frame.basis],
    steps: chunks.reduce((sum, { times }) => sum + times.length, 0),
    rejected: last.rejected,
    time: last.times.at(-1),
    tokens: [...last.tokens.subarray(last.tokens.length - wanted.n * (columns ?? wanted.d))],
  };
}"""


class FieldPlanned:
    """A page with planners and engines."""

    def __init__(self, page):
        self.page = page
        page.goto("about:blank")
        page.add_script_tag(content=page_script("fieldplanner", "engine", "check"))
        engines = {f"{m}{d}": engine(m, d) for m in ("explicit", "implicit") for d in (2, 3)}
        engines |= {f"{m}field": engine(m) for m in ("explicit", "implicit", "splitting")}
        for name in ("plan", "fieldplan"):
            engines[name] = module(name)
        for name, code in engines.items():
            page.evaluate(_LOAD, [name, base64.b64encode(code).decode()])
        page.evaluate(
            """(limits) => {
              globalThis.limits = limits;
              const plain = new $planner.Planner(modules.plan, shared);
              globalThis.planner = new $fieldplanner.FieldPlanner(modules.fieldplan, shared, plain);
            }""",
            knowledge()["limits"],
        )

    def plan(self, settings):
        """The plan of settings of the explorer."""
        return self.page.evaluate(_PLAN, wanted(settings))

    def follow(self, settings):
        """How a run of these settings ends, with tokens out of the frame."""
        result = self.page.evaluate(_FOLLOW, wanted(settings))
        n, d = settings.n, settings.d
        states, basis = np.reshape(result["tokens"], (n, -1)), np.reshape(result["basis"], (d, d))
        return result | {"tokens": states[:, :d] @ basis.T}


def wanted(settings):
    """Settings of the explorer in the form that a planner expects."""
    values = settings.to_dict()
    for name in "VQK":
        text = values[name]
        if text.startswith("random:"):
            values[name] = {"random": int(text.removeprefix("random:"))}
        else:
            matrix = FIELDS[name].matrix(name, text, settings.d)
            values[name] = np.asarray(matrix).ravel().tolist()
    return values | {"tol": default_tol(settings.model)}


def native(settings):
    """The solver of the server for these settings, and its run."""
    model = settings.model
    solver = Solver(model, Options(settings.T, tol=default_tol(model)))
    return solver, solver.run(settings.start, Hooks(alone=False), seed=settings.seed)


def settings(**values):
    """Settings with few tokens."""
    return Settings.read({"n": 12, "d": 2, "beta": 4.0, "T": 20.0, **values})
