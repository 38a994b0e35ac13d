"""Plans made in a browser, beside native ones for the same settings."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass

import numpy as np
from support.wasm import page_script

import parkade as pk
from parkade.analysis.centers import KINDS, separation
from parkade.base import check
from parkade.explorer.lowered import lowered, module
from parkade.model import matrices
from parkade.solve.options import Options
from parkade.solve.solver import Solver

TOL = 1e-6

_PLAN = """(all) => all.map((wanted) => {
  const plain = (value) => {
    if (ArrayBuffer.isView(value)) return [...value];
    if (Array.isArray(value) || value === null || typeof value !== 'object') {
      return Number.isFinite(value) || typeof value !== 'number' ? value : String(value);
    }
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  };
  return plain(planner.plan(wanted));
})"""


@dataclass(frozen=True)
class Setting:
    """What a page wants to run."""

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
        """A matrix as numbers; an integer is the seed of a random one."""
        given = getattr(self, name)
        if isinstance(given, int):
            return matrices.seeded(name, given, self.d)
        return check.matrix(name, given, self.d)

    def wanted(self):
        """As the page asks for it."""
        given = {
            name: {"random": getattr(self, name)}
            if isinstance(getattr(self, name), int)
            else self.matrix(name).ravel().tolist()
            for name in "VQK"
        }
        return {**asdict(self), **given}

    @property
    def model(self):
        return pk.Attention(
            d=self.d,
            beta=self.beta,
            mask=self.mask,
            **{name: self.matrix(name) for name in "VQK"},
        )

    @property
    def start(self):
        return pk.sphere.uniform(self.n, self.d, self.seed)

    @property
    def held(self):
        """Frozen tokens."""
        if self.frozen == "none":
            return np.empty(0, dtype=int)
        return KINDS[self.frozen](self.start, separation(self.c, self.beta))

    def solver(self, **options):
        """The native solver, and the tokens that move."""
        x0, held = self.start, self.held
        frozen = x0[held] if len(held) else None
        solver = Solver(self.model, Options(self.T, tol=self.tol, frozen=frozen, **options))
        return solver, check.tokens(np.delete(x0, held, axis=0))


class Planned:
    """A page with a planner."""

    def __init__(self, page):
        self.page = page
        page.goto("about:blank")
        page.add_script_tag(content=page_script("planner", "engine"))
        text = base64.b64encode(module("plan")).decode()
        page.evaluate(
            """(text) => {
              const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
              globalThis.planner = new $planner.Planner(new WebAssembly.Module(bytes));
            }""",
            text,
        )

    def plans(self, settings):
        """The plans of several settings."""
        return self.page.evaluate(_PLAN, [one.wanted() for one in settings])
