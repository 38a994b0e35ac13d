"""Engines in a browser against native ones: sizes, and seconds of the same runs.

    python benchmarks/wasm.py                prints three tables in Markdown

Native runs and those of a Chromium take turns on one thread, and the best of each counts. Both
take the same steps; the table says how many. The last table compares runs in the browser in which
tokens may rest with others in which all tokens move.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Page, sync_playwright

import parkade as pk
from parkade.explorer.settings.rules import DIMENSIONS
from parkade.explorer.settings.settings import Settings
from parkade.explorer.standalone.bundle import PAGE, bundle
from parkade.explorer.standalone.shared import shared
from parkade.model.model import Model
from parkade.solve.options import Hooks, Options, default_tol
from parkade.solve.solver import Solver

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.lowered import engine, lowered

ROUNDS = 5
BAR = 2.5
BROWSERS = "chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"


class Case(NamedTuple):
    """A run, and whether the bar is meant for it."""

    name: str
    n: int
    d: int
    beta: float
    t_end: float
    sums: Literal["auto", "direct", "harmonic"] = "auto"
    counts: bool = False
    parts: dict[str, Any] | None = None  # more settings of the explorer

    @property
    def model(self) -> Model:
        """The model of the case."""
        settings = {"n": self.n, "d": self.d, "beta": self.beta, "T": self.t_end}
        return Settings.read(settings | (self.parts or {})).model


CASES = (
    Case("life, Fourier sums", 200, 2, 64.0, 1e60, "harmonic", True),
    Case("life, direct sums", 200, 2, 64.0, 1e60, "direct"),
    Case("many tokens", 500, 2, 64.0, 1000.0, counts=True),
    Case("figure 2", 200, 2, 64.0, 150.0),
    Case("sphere", 32, 3, 9.0, 1000.0),
    Case("sphere, many tokens", 500, 3, 9.0, 100.0),
    Case("four heads", 200, 2, 16.0, 1e60, parts={"heads": 4}),
    Case("four heads, many tokens", 500, 3, 9.0, 100.0, parts={"heads": 4}),
    Case("pre-norm", 200, 3, 9.0, 1e6, parts={"norm": "pre"}),
    Case("β grows", 100, 2, 4.0, 1000.0, parts={"growth": 2.0}),
    Case("noise", 50, 2, 9.0, 2.0, parts={"noise": 0.1}),
)

RESTING = (
    Case("plain head", 200, 2, 64.0, 1e60),
    Case("two heads", 200, 2, 64.0, 1e60, parts={"heads": 2}),
    Case("two heads, short", 200, 2, 64.0, 1e3, parts={"heads": 2}),
    Case("MLP", 200, 2, 64.0, 1e3, parts={"mlp": 8}),
    Case("window", 200, 2, 64.0, 1e60, parts={"mask": "window", "reach": 100}),
    Case("ALiBi", 200, 2, 64.0, 1e60, parts={"encoding": "alibi", "slope": 0.01}),
    Case("pre-norm", 200, 2, 64.0, 1e12, parts={"norm": "pre"}),
    Case("RoPE: nobody rests", 100, 2, 16.0, 1e3, parts={"encoding": "rope"}),
)

_TIMED = """([name, problem]) => {
  const engine = new Engine(modules[name], shared);
  const begun = performance.now();
  let steps = 0;
  for (const chunk of engine.run(problem)) steps += chunk.times.length;
  return [(performance.now() - begun) / 1000, steps, engine.used];
}"""


def _name(method: str, d: int | None) -> str:
    """The name of an engine: for a dimension, or for transformers."""
    return f"{method}{'field' if d is None else d}"


def sizes(page: Page) -> None:
    """Bytes of each engine, and what a page takes to compile it."""
    print("| engine | kB | kB, gzip | compile, ms |\n|---|---:|---:|---:|")
    for d in (*DIMENSIONS, None):
        for method in ("explicit", "implicit") if d else ("explicit", "implicit", "splitting"):
            name, module = _name(method, d), engine(method, d)
            spent = page.evaluate(
                """([name, text]) => {
                  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
                  const begun = performance.now();
                  modules[name] = new WebAssembly.Module(bytes);
                  return performance.now() - begun;
                }""",
                [name, base64.b64encode(module).decode()],
            )
            packed = len(gzip.compress(module, 9))
            print(f"| {name} | {len(module) / 1e3:.0f} | {packed / 1e3:.1f} | {spent:.0f} |")


def _lowered(case: Case) -> tuple[Solver, Any, str]:
    """The solver of a case, its problem for the browser, and the name of the engine."""
    x0 = pk.sphere.uniform(case.n, case.d, seed=1)
    solver = Solver(case.model, Options(case.t_end, sums=case.sums, tol=default_tol(case.model)))
    problem = lowered(solver, x0, seed=1)
    one = problem["pieces"][0] if "pieces" in problem else problem
    return solver, problem, _name(problem["method"], None if "field" in one else case.d)


def speed(page: Page) -> None:
    """Seconds of each case, here and there."""
    print("\n| run | n | d | T | method | steps | native, ms | browser, ms | ratio | MB | |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---|")
    for case in CASES:
        solver, problem, name = _lowered(case)
        x0, hooks = pk.sphere.uniform(case.n, case.d, seed=1), Hooks(alone=False)
        here, there = [], []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            run = solver.run(x0, hooks, seed=1)
            here.append(time.perf_counter() - begun)
            seconds, steps, used = page.evaluate(_TIMED, [name, problem])
            there.append(seconds)
        if steps != run.stats.steps:
            raise SystemExit(f"{case.name}: {steps} steps in the browser, {run.stats.steps} here")
        ratio = min(there) / min(here)
        outcome = ("met" if ratio <= BAR else "**missed**") if case.counts else ""
        print(
            f"| {case.name} | {case.n} | {case.d} | {case.t_end:g} | {problem['method']}, "
            f"{run.stats.sums} | {steps} | {1e3 * min(here):.0f} | {1e3 * min(there):.0f} | "
            f"{ratio:.2f} | {used / 1e6:.1f} | {outcome} |"
        )


def rest(page: Page) -> None:
    """Seconds in the browser, of runs in which tokens may rest and of others, in turns."""
    print("\n| run | n | T | all move, ms | some rest, ms | ratio | MB, all | MB, some |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for case in RESTING:
        _, problem, name = _lowered(case)
        spent: dict[bool, list[float]] = {False: [], True: []}
        used = {}
        for _ in range(ROUNDS):
            for rests, seconds in spent.items():
                one = {**problem, "rests": rests and problem["rests"]}
                taken, _, used[rests] = page.evaluate(_TIMED, [name, one])
                seconds.append(taken)
        every, some = min(spent[False]), min(spent[True])
        print(
            f"| {case.name} | {case.n} | {case.t_end:g} | {1e3 * every:.0f} | {1e3 * some:.0f} | "
            f"**{every / some:.2f}** | {used[False] / 1e6:.1f} | {used[True] / 1e6:.1f} |"
        )


def main() -> None:
    """Print the tables of sizes, of speed and of what resting tokens save."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(
            content=bundle(PAGE / "compute" / "engine.js")
            + f"const {{ Engine }} = $engine; globalThis.shared = {json.dumps(shared())};"
        )
        page.evaluate("() => { globalThis.modules = {}; }")
        sizes(page)
        speed(page)
        rest(page)
        browser.close()


if __name__ == "__main__":
    main()
