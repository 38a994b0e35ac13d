"""Runs of engines in a browser, beside native runs of the same problems."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

import parkade as pk
from parkade.base import check
from parkade.explorer.settings.settings import Settings
from parkade.explorer.standalone.bundle import bundle
from parkade.explorer.standalone.export import PAGE
from parkade.explorer.standalone.shared import shared
from parkade.runs.trajectory import Trajectory
from parkade.solve.options import Hooks, Options, default_tol
from parkade.solve.solver import Solver, first_state
from support.lowered import engine, lowered

TIMES, TOKENS = 1e-8, 1e-12
"""How far merge times may differ, relative, and final tokens, absolute."""

_SAME = "model", "frozen", "frozen_weights"

_RUN = """([name, problem]) => {
  const pack = (arrays) => {
    const whole = new Float64Array(arrays.reduce((sum, each) => sum + each.length, 0));
    let next = 0;
    for (const each of arrays) { whole.set(each, next); next += each.length; }
    return $base64.base64(new Uint8Array(whole.buffer));
  };
  const begun = performance.now();
  const engine = engines[name] ??= new Engine(new WebAssembly.Module(modules[name]), shared);
  const chunks = [...engine.run(problem)];
  const result = Object.fromEntries(['times', 'tokens', 'dense']
    .map((part) => [part, chunks.map((chunk) => chunk[part])]));
  return {
    seconds: (performance.now() - begun) / 1000,
    clock: [...chunks.at(-1).clock],
    rejected: chunks.at(-1).rejected,
    trusted: chunks.at(-1).trusted,
    used: engine.used,
    ...Object.fromEntries(Object.entries(result).map(([part, all]) => [part, pack(all)])),
  };
}"""


@dataclass(frozen=True)
class Case:
    """A model, a start and how far to go."""

    n: int
    d: int
    beta: float
    t_end: float
    V: object = 1.0
    mask: str = "causal"
    frozen: int = 0  # how many of the first tokens
    seed: int = 1
    options: dict = field(default_factory=dict)

    def __str__(self):
        values = {"V": self.V, "mask": self.mask, "frozen": self.frozen, **self.options}
        rest = {"V": 1.0, "mask": "causal", "frozen": 0}
        more = "".join(f", {k}={v}" for k, v in values.items() if rest.get(k) != v)
        return f"n={self.n}, d={self.d}, β={self.beta:g}, T={self.t_end:g}, {self.seed}{more}"

    def model(self):
        """The model of the case."""
        return pk.Attention(d=self.d, beta=self.beta, V=self.V, mask=self.mask)


@dataclass(frozen=True)
class Offered(Case):
    """A model as the settings of the explorer describe it, with any parts of a transformer."""

    settings: dict = field(default_factory=dict)

    def __str__(self):
        more = "".join(f", {name}={value}" for name, value in self.settings.items())
        return super().__str__() + more

    def model(self):
        """The model of these settings."""
        plain = {"n": self.n, "d": self.d, "beta": self.beta, "T": self.t_end, "mask": self.mask}
        return Settings.read(plain | self.settings).model


@dataclass(frozen=True)
class Named(Case):
    """Any model, by its name."""

    name: str = ""
    layer: object = None

    def __str__(self):
        return f"{super().__str__()}, {self.name}"

    def model(self):
        """The model of the run, as `simulate` takes it."""
        return self.layer


def page_script(*names):
    """Modules of the page as a script, each in the constant $name; `shared` has their data.

    $base64 packs and unpacks bytes.
    """
    files = [PAGE / "compute" / f"{name}.js" for name in names]
    modules = bundle(*files, PAGE / "files" / "base64.js")
    return f"{modules}\nglobalThis.shared = {json.dumps(shared())};"


def engine_script():
    """The module of the page that runs engines, as a script."""
    return page_script("engine") + "\nconst { Engine } = $engine, { Failure } = $slots;"


def replaced(right, wrong):
    """A function that puts a wrong number in the place of one that a module has."""
    old, new = (struct.pack("<d", number) for number in (right, wrong))

    def change(module):
        assert old in module
        return module.replace(old, new)

    return change


_INTERFACE = """(text) => {
  const module = new WebAssembly.Module($base64.bytesOf(text));
  return [WebAssembly.Module.imports(module),
    WebAssembly.Module.exports(module).map(({ name }) => name)];
}"""


def interface(page, module):
    """What a WebAssembly module imports, and the names of what it exports."""
    imports, exports = page.evaluate(_INTERFACE, base64.b64encode(module).decode())
    return imports, set(exports)


class Browsed:
    """A page with engines, all of which are compiled once."""

    def __init__(self, page, change=lambda module: module):
        self.page = page
        page.goto("about:blank")
        page.add_script_tag(content=engine_script())
        page.evaluate("() => { globalThis.modules = {}; globalThis.engines = {}; }")
        self._change, self._there = change, set()

    def load(self, method, d=None):
        """Give the page an engine, for one plain head or for transformers; return its name."""
        name = f"{method}{'field' if d is None else d}"
        if name not in self._there:
            text = base64.b64encode(self._change(engine(method, d))).decode()
            self.page.evaluate(
                "([name, text]) => { modules[name] = $base64.bytesOf(text); }", [name, text]
            )
            self._there.add(name)
        return name

    def run(self, problem):
        """The steps of a problem, as arrays."""
        one = problem["pieces"][0] if "pieces" in problem else problem
        name = self.load(problem["method"], None if "field" in one else problem["d"])
        result = self.page.evaluate(_RUN, [name, problem])
        for part in ("times", "tokens", "dense"):
            result[part] = np.frombuffer(base64.b64decode(result[part]))
        return result


def differences(browsed, case, *, strict=True):
    """What a run in the page has that the native one has not: a list of sentences.

    Some runs amplify rounding: explicit steps at the limit of stability, and steps that barely
    pass or fail. If not `strict`, a native run from a start that is moved by one rounding error
    shows which; these are held to their tolerance only.
    """
    native, solver = _native(case)
    plan, free = solver.plan(native.tokens.shape[1]), native.tokens[0]
    result = browsed.run(lowered(solver, free, case.seed))
    first = first_state(solver.model, free)
    states = result["tokens"].reshape(-1, *first.shape)
    dense = result["dense"].reshape(len(states), -1, *first.shape)
    run = Trajectory.from_frame(
        plan.frame.spin,
        np.concatenate([first[None], _out_of(plan.frame, states)]),
        times=np.concatenate([[0.0], result["times"]]),
        dense=_out_of(plan.frame, dense),
        stats=replace(native.stats, steps=len(states), rejected=int(result["rejected"])),
        trusted_until=result["trusted"],
        **{name: getattr(native, name) for name in _SAME},
    )
    wrong = _unlike(run, native)
    if (
        not wrong
        or strict
        or not any(_unlike(_native(case, 1e-16, s)[0], native) for s in range(3))
    ):
        return wrong
    loose = 10 * native.stats.tol
    return _unlike(run, native, counts=False, times=loose, tokens=loose)


def _out_of(frame, states):
    """States in the coordinates of the model."""
    d = len(frame.basis)
    return np.concatenate([frame.leave(states[..., :d]), states[..., d:]], axis=-1)


def _native(case, moved=0.0, seed=0):
    """A native run, and its solver; from a start whose tokens may be moved a little."""
    x0 = pk.sphere.uniform(case.n, case.d, seed=case.seed)
    x0 += moved * np.random.default_rng(seed).normal(size=x0.shape)
    x0 /= np.linalg.norm(x0, axis=1)[:, None] if moved else 1.0
    model, frozen = case.model(), x0[: case.frozen] if case.frozen else None
    options = {"tol": default_tol(model), **case.options}
    solver = Solver(model, Options(case.t_end, frozen=frozen, **options))
    free = check.tokens(x0[case.frozen :])
    return solver.run(free, Hooks(alone=False), seed=case.seed), solver


def _unlike(run, native, *, counts=True, times=TIMES, tokens=TOKENS):
    """How a run differs from another by more than it may."""
    wrong = []
    steps, expected = ((each.stats.steps, each.stats.rejected) for each in (run, native))
    if counts and steps != expected:
        wrong.append(f"{steps} steps, not {expected}")
    gap = np.abs(run.final - native.final).max()
    if not gap <= tokens:
        wrong.append(f"final tokens differ by {gap:.1e}")
    if run.radii is not None:
        longer = np.abs(np.log(run.radii[-1] / native.radii[-1])).max()
        if not longer <= tokens * max(1.0, np.abs(np.log(native.radii[-1])).max()):
            wrong.append(f"final lengths differ by {longer:.1e}")
    until, expected = run.trusted_until, native.trusted_until
    if until != expected and not abs(until - expected) <= times * expected:
        wrong.append(f"trusted until {until:g}, not {expected:g}")
    if run.stats.method == "splitting":  # clusters part again
        return wrong
    ours, theirs = run.merge_tree().events, native.merge_tree().events
    if [(e.absorbed, e.into) for e in ours] != [(e.absorbed, e.into) for e in theirs]:
        return [*wrong, "other merges"]
    when, then = (np.array([e.time for e in tree]) for tree in (ours, theirs))
    late = np.abs(when - then)
    if not (late <= times * then).all():
        wrong.append(f"merge times differ by {np.nanmax(late / np.maximum(then, 1e-300)):.1e}")
    return wrong


def _grid():
    """Models of every kind, each from several starts."""
    turning = {
        2: [[1.0, -1.0], [1.0, 1.0]],
        3: [[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
    }
    symmetric = {
        2: [[1.0, 0.3], [0.3, 0.5]],
        3: [[1.0, 0.3, 0.1], [0.3, 0.5, 0.0], [0.1, 0.0, 0.2]],
    }
    diagonal = {2: [1.0, 0.5], 3: [1.0, 1.0, -1.0]}
    for d in (2, 3):
        for V in (1.0, diagonal[d], symmetric[d], turning[d]):
            for beta in (1.0, 4.0, 16.0, 64.0, 256.0):
                for seed in (1, 2):
                    common = {"d": d, "beta": beta, "V": V, "seed": seed}
                    yield Case(n=32, t_end=1e60, **common)
                    yield Case(n=200, t_end=1e3, **common)
                    yield Case(n=40, t_end=20.0, **common, options={"method": "explicit"})
                    yield Case(n=20, t_end=100.0, mask="full", **common)
                    yield Case(
                        n=20, t_end=1e3, mask="full", **common, options={"method": "implicit"}
                    )
                    # With frozen ones, tokens that turn never rest.
                    end = 100.0 if V is turning[d] else 1e6
                    yield Case(n=32, t_end=end, frozen=3, **common)


GRID = list(_grid())


def _parts():
    """Every normalisation with every other part of a transformer, and some with time."""
    for d, norm, heads, mlp in product(
        (2, 3), ("post", "pre", "mix", "peri", "ngpt", "sqrt"), (1, 3), (0, 8)
    ):
        for mask, encoding in product(
            ("causal", "window", "prefix", "full"), ("none", "rope", "alibi")
        ):
            parts = {"norm": norm, "heads": heads, "mlp": mlp, "encoding": encoding}
            if (heads, mlp, norm, encoding) == (1, 0, "post", "none") and mask != "window":
                continue  # one plain head, and little more
            long = mask in ("causal", "window")
            yield Offered(
                n=16,
                d=d,
                beta=4.0,
                t_end=(1e3 if mlp else 1e60) if long else 20.0,
                settings={**parts, "mask": mask, "reach": 5},
            )
    for d, heads, norm in product((2, 3), (1, 2), ("post", "pre", "ngpt")):
        more = {"heads": heads, "norm": norm}
        yield Offered(n=12, d=d, beta=2.0, t_end=1e4, settings={**more, "growth": 2.0})
        yield Offered(n=8, d=d, beta=2.0, t_end=3.0, settings={**more, "noise": 0.1})


PARTS = list(_parts())
