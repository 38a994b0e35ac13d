"""Plans made in a browser, beside native ones for the same settings."""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass

import numpy as np

import parkade as pk
from parkade.analysis.centers import KINDS, consumption_radius, separation
from parkade.analysis.clusters import default_radius
from parkade.base import check
from parkade.model import matrices
from parkade.runs.rotation import phase_known_until
from parkade.solve.options import Options
from parkade.solve.solver import Solver
from support.lowered import engine, lowered, module
from support.wasm import page_script

TOL = 1e-6

_BEGIN = """(text) => {
  globalThis.compiled = (packed) => new WebAssembly.Module($base64.bytesOf(packed));
  globalThis.planner = new $planner.Planner(compiled(text), shared);
  globalThis.engines = {};
  // JSON has neither arrays of floats nor infinity.
  globalThis.plain = (value) => {
    if (ArrayBuffer.isView(value)) return [...value].map(plain);
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
  };
}"""

_RUN = """([wanted, direct]) => {
  let plan = planner.plan(wanted);
  if (direct) plan = planner.direct(plan);
  const chunks = [...engines[`${plan.method}${wanted.d}`].run(plan.problem)];
  const { tokens, clock, trusted } = chunks.at(-1);
  const end = tokens.slice(-plan.problem.tokens.length);
  const steps = chunks.reduce((sum, { times }) => sum + times.length, 0);
  return plain({ steps, rejected: clock[4], end, plan, trusted });
}"""


@dataclass(frozen=True)
class Setting:
    """A run that a page plans; a matrix that is an int is the seed of a random one."""

    n: int = 32
    d: int = 2
    beta: float = 9.0
    c: float = 4.0
    T: float = 1e3
    seed: int = 1
    tol: float = TOL
    mask: str = "causal"
    frozen: str = "none"
    V: object = 1.0
    Q: object = 1.0
    K: object = 1.0

    def __str__(self):
        usual = asdict(Setting())
        return ", ".join(f"{k}={v}" for k, v in asdict(self).items() if v != usual[k])

    def matrix(self, name):
        """A matrix as numbers."""
        value = getattr(self, name)
        if isinstance(value, int):
            return matrices.seeded(name, value, self.d)
        return check.matrix(name, value, self.d)

    def wanted(self):
        """The setting in the form that a planner expects."""
        chosen = {name: getattr(self, name) for name in "VQK"}
        return asdict(self) | {
            name: {"random": one} if isinstance(one, int) else self.matrix(name).ravel().tolist()
            for name, one in chosen.items()
        }

    @property
    def model(self):
        entries = {name: self.matrix(name) for name in "VQK"}
        return pk.Attention(d=self.d, beta=self.beta, mask=self.mask, **entries)

    @property
    def start(self):
        return pk.sphere.uniform(self.n, self.d, self.seed)

    @property
    def delta(self):
        return separation(self.c, self.beta)

    @property
    def held(self):
        """Indices of the frozen tokens."""
        none = np.empty(0, dtype=int)
        return none if self.frozen == "none" else KINDS[self.frozen](self.start, self.delta)

    def solver(self, **options):
        """The native solver, and the tokens that move."""
        x0, held = self.start, self.held
        frozen = x0[held] if len(held) else None
        solver = Solver(self.model, Options(self.T, tol=self.tol, frozen=frozen, **options))
        return solver, check.tokens(np.delete(x0, held, axis=0))


class Planned:
    """A page with a planner, and with engines when they are needed."""

    def __init__(self, page, change=lambda module: module):
        self.page = page
        page.goto("about:blank")
        page.add_script_tag(content=page_script("planner", "engine"))
        page.evaluate(_BEGIN, _packed(change(module("plan"))))
        self._there = set()

    def plans(self, settings):
        """The plans of several settings."""
        wanted = [one.wanted() for one in settings]
        return self.page.evaluate("(all) => all.map((one) => plain(planner.plan(one)))", wanted)

    def run(self, setting, *, direct=False):
        """The end of a run, and how it was computed."""
        for method in ("explicit", "implicit"):
            name = f"{method}{setting.d}"
            if name not in self._there:
                make = "([n, text]) => { engines[n] = new $engine.Engine(compiled(text), shared); }"
                self.page.evaluate(make, [name, _packed(engine(method, setting.d))])
                self._there.add(name)
        return self.page.evaluate(_RUN, [setting.wanted(), direct])


def unlike(setting, result):
    """How a plan in a page differs from the native one: a list of names."""
    solver, x0 = setting.solver()
    plan = solver.plan(len(x0))
    texts = plan.method, plan.reason, plan.sums.describe(setting.d)
    if plan.sums.lengths is not None:  # pages sum directly for such Q and K
        solver, x0 = setting.solver(sums="direct")
        plan = solver.plan(len(x0))
        texts = (*texts[:2], plan.sums.describe(setting.d))
    if (result["method"], result["reason"], result["engine"]) != texts:
        return [f"{texts}, not {result['method']}, {result['reason']}, {result['engine']}"]
    expected = lowered(solver, x0)
    names = [*_of_start(setting, result), *_of_frame(plan.frame, result["frame"], setting.d)]
    return names + _of_problem(expected, result["problem"], _signs(plan.frame, result))


def _of_start(setting, result):
    """What is wrong in all that the plan does not decide."""
    model, x = setting.model, setting.start
    exact = {"start": x, **{name: setting.matrix(name) for name in "VQK"}, "held": setting.held}
    near = {
        "delta": setting.delta,
        "consumption_radius": consumption_radius(setting.beta),
        "radius": default_radius(model),
        "rate": model.rate,
        "sharpness": model.sharpness,
        "product": model.product,
    }
    wrong = [name for name, values in exact.items() if result[name] != values.ravel().tolist()]
    wrong += [name for name, values in near.items() if not _close(result[name], values)]
    for kind, find in KINDS.items():
        if result["centers"][kind] != find(x, setting.delta).tolist():
            wrong.append(f"{kind} centres")
    return wrong


def _signs(frame, result):
    """By which the axes of a basis differ: eigenvectors have no sign of their own."""
    basis = np.reshape(result["frame"]["basis"], frame.basis.shape)
    return np.where((basis * frame.basis).sum(axis=0) < 0, -1.0, 1.0)


def _of_frame(frame, result, d):
    wrong = [
        name for name in ("rotates", "attracts", "drifts") if result[name] != getattr(frame, name)
    ]
    wrong += [
        name for name in ("spin", "leading") if not _close(result[name], getattr(frame, name))
    ]
    signs = _signs(frame, {"frame": result})
    if not _close(np.reshape(result["basis"], (d, d)) * signs, frame.basis):
        wrong.append("basis")
    return wrong


def _of_problem(expected, result, signs):
    d = len(signs)
    result = {**result, "t_end": float(result["t_end"])}  # a script writes 2e20 without a point
    same = ("method", "d", "causal", "t_end", "tol", "frozen_weights")
    wrong = [name for name in same if result[name] != expected[name]]
    if float(result["stretch"]) != (expected["stretch"] or np.inf):
        wrong.append("stretch")
    near = {name: result[name] for name in ("accuracy", "floor")}
    near |= {name: np.reshape(result[name], (-1, d)) * signs for name in ("tokens", "frozen")}
    both = np.outer(signs, signs).ravel()
    near |= {name: both * result[name] for name in ("query", "value", "own_value")}
    wrong += [name for name, values in near.items() if not _close(values, expected[name])]
    tables = [each["table"] or {"rows": 0, "values": []} for each in (result, expected)]
    if tables[0]["rows"] != tables[1]["rows"] or not _close(*(t["values"] for t in tables), 1e-12):
        wrong.append("table")
    return wrong


def _close(result, expected, tol=1e-13):
    """Whether all numbers are the same up to rounding of the largest."""
    result, expected = np.ravel(np.asarray(result, dtype=float)), np.ravel(expected)
    if result.shape != expected.shape:
        return False
    if not result.size or np.array_equal(result, expected):
        return True
    return bool(np.abs(result - expected).max() <= tol * np.abs(expected).max())


def known_until(setting):
    """When the phase of a rotation is lost, natively."""
    solver, x0 = setting.solver()
    plan = solver.plan(len(x0))
    return phase_known_until(plan.frame.spin, plan.frame.V, setting.tol)


def _packed(data):
    return base64.b64encode(data).decode()
