"""Engines in a browser against native ones: sizes, and seconds of the same runs.

    python benchmarks/wasm.py                prints two tables in Markdown

Native runs and those of a Chromium take turns on one thread, and the best of each counts. Both
take the same steps; the table says how many.
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


def speed(page: Page) -> None:
    """Seconds of each case, here and there."""
    print("\n| run | n | d | T | method | steps | native, ms | browser, ms | ratio | MB | |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---|")
    for case in CASES:
        x0 = pk.sphere.uniform(case.n, case.d, seed=1)
        options = Options(case.t_end, sums=case.sums, tol=default_tol(case.model))
        solver = Solver(case.model, options)
        problem = lowered(solver, x0, seed=1)
        one = problem["pieces"][0] if "pieces" in problem else problem
        name = _name(problem["method"], None if "field" in one else case.d)
        hooks = Hooks(alone=False)
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


def main() -> None:
    """Print the tables of sizes and of speed."""
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
        browser.close()


if __name__ == "__main__":
    main()
