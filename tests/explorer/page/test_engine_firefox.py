"""Engines and planners in Firefox compute what they compute in Chromium, bit for bit."""

from __future__ import annotations

import base64
import json

import pytest
from support.explorer import wait_for
from support.firefox import FIREFOX, firefox
from support.lowered import engine, lowered, module
from support.planner import Setting
from support.wasm import engine_script, page_script

import parkade as pk
from parkade.solve.options import Options
from parkade.solve.solver import Solver

pytestmark = pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox; say make firefox")

# All bits of all steps, as a sum that each of them changes.
SCRIPT = """(() => {
  %s
  const bytes = $base64.bytesOf('%s');
  const chunks = [...new Engine(new WebAssembly.Module(bytes), shared).run(%s)];
  let sum = 0n, steps = 0;
  for (const { times, tokens, dense } of chunks) {
    steps += times.length;
    for (const part of [times, tokens, dense]) {
      const numbers = new BigUint64Array(part.buffer);
      for (const bits of numbers) sum = BigInt.asUintN(64, sum * 31n + bits);
    }
  }
  return [steps, String(sum)];
})()"""


def script(d, t_end, **options):
    x0 = pk.sphere.uniform(24, d, seed=1)
    solver = Solver(pk.Attention(d=d, beta=16.0), Options(t_end, **options))
    problem = lowered(solver, x0)
    module = base64.b64encode(engine(problem["method"], d)).decode()
    return SCRIPT % (engine_script(), module, json.dumps(problem))


# All bits of the arrays of some plans, likewise.
PLANS = """(() => {
  %s
  const bytes = $base64.bytesOf('%s');
  const planner = new $planner.Planner(new WebAssembly.Module(bytes), shared);
  let sum = 0n, count = 0;
  for (const wanted of %s) {
    const { start, frame: { basis }, problem } = planner.plan(wanted);
    const { query, value, own_value: own, table } = problem;
    for (const part of [start, basis, query, value, own, table ? table.values : start]) {
      count += part.length;
      const numbers = new BigUint64Array(part.buffer);
      for (const bits of numbers) sum = BigInt.asUintN(64, sum * 31n + bits);
    }
  }
  return [count, String(sum)];
})()"""


def plans():
    settings = [
        Setting(n=300, d=d, beta=16.0, T=T, V=V, seed=d)
        for d in (2, 3)
        for V, T in ((1.0, 10.0), (4, 1e30))
    ]
    packed = base64.b64encode(module("plan")).decode()
    return PLANS % (page_script("planner"), packed, json.dumps([s.wanted() for s in settings]))


SCRIPTS = [
    plans(),
    script(2, 1e60, sums="harmonic"),
    script(3, 1e60, sums="direct"),
    script(3, 10.0, method="explicit", sums="harmonic"),
]


async def visit(profile):
    async with firefox(profile) as tab:
        blank = {"url": "about:blank", "wait": "complete"}
        await tab.call("browsingContext.navigate", **tab.tab, **blank)
        return [await tab.get(each) for each in SCRIPTS]


def test_the_same_bits(new_page, tmp_path):
    result = wait_for(visit(tmp_path))
    page = new_page()
    assert result == [page.evaluate(each) for each in SCRIPTS]
    assert all(steps > 20 for steps, _ in result)
