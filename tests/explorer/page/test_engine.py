"""Engines in the browser do what native ones do: step by step, and to the last merge.

`make parity` compares the whole grid, of which a few models of each kind are compared here.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.lowered import engine, lowered
from support.wasm import GRID, Browsed, Case, differences, interface, replaced

import parkade as pk
from parkade.solve.options import Options
from parkade.solve.solver import Solver

TURNING = [[1.0, -1.0], [1.0, 1.0]]
FEW = [
    Case(n=64, d=2, beta=64.0, t_end=1e60, options={"sums": "harmonic"}),
    Case(n=48, d=2, beta=16.0, t_end=1e60, options={"sums": "direct"}),
    Case(n=32, d=2, beta=256.0, t_end=1e60, V=TURNING, options={"sums": "direct"}),
    Case(n=32, d=2, beta=4.0, t_end=1e6, frozen=3),
    Case(n=16, d=2, beta=4.0, t_end=300.0, mask="full", options={"method": "implicit"}),
    Case(n=40, d=2, beta=9.0, t_end=20.0, options={"method": "explicit", "sums": "direct"}),
    Case(n=200, d=2, beta=64.0, t_end=20.0, mask="full", options={"sums": "harmonic"}),
    Case(n=32, d=3, beta=9.0, t_end=1e60, V=[1.0, 1.0, -1.0]),
    Case(n=32, d=3, beta=1.0, t_end=1e3, options={"sums": "harmonic", "method": "implicit"}),
    Case(n=40, d=3, beta=9.0, t_end=20.0, options={"method": "explicit"}),
]
ALL = bool(os.environ.get("PARKADE_PARITY"))


@pytest.fixture(scope="module")
def browsed(new_page):
    return Browsed(new_page())


def problem(case):
    x0 = pk.sphere.uniform(case.n, case.d, seed=case.seed)
    model = pk.Attention(d=case.d, beta=case.beta)
    return lowered(Solver(model, Options(case.t_end, **case.options)), x0)


@pytest.mark.parametrize("case", FEW, ids=str)
def test_the_same_run(browsed, case):
    assert differences(browsed, case) == []


@pytest.mark.skipif(not ALL, reason="make parity does it")
@pytest.mark.parametrize("case", GRID if ALL else (), ids=str)
def test_the_same_grid(browsed, case):
    assert differences(browsed, case, strict=False) == []


@pytest.mark.parametrize("d", [2, 3])
def test_a_long_run_under_full_attention(browsed, d):
    """Its steps depend on eigenvalues that are 0 in the end, but for rounding: they may differ."""
    x0 = pk.sphere.uniform(16, d, seed=1)
    solver = Solver(pk.Attention(d=d, beta=4.0, mask="full"), Options(1e20))
    result = browsed.run(lowered(solver, x0))
    end = result["tokens"].reshape(-1, 16, d)[-1]
    assert (result["times"][-1], result["clock"][0]) == (1e20, 1e20)
    expected = pk.simulate(solver.model, x0, 1e20).final
    np.testing.assert_allclose(end, expected, atol=10 * solver.options.tol)


def test_a_wrong_constant_is_noticed(new_page):
    """One digit of one coefficient, of the step control or of 2^x, changes what is compared."""
    for case, right, wrong in (
        (FEW[0], 0.9, 0.91),  # the safety factor of implicit steps
        (FEW[5], 0.69314718055995, 0.693147180556),  # of 2^x
    ):
        assert differences(Browsed(new_page(), replaced(right, wrong)), case)


_PARTS = "begin", "advance", "resume"


def test_engines_import_nothing_and_are_bounded(browsed):
    for method in ("explicit", "implicit"):
        for d in (2, 3):
            kinds = ["direct", "harmonic"] + (["full"] if method == "implicit" else [])
            functions = [f"{part}_{kind}" for kind in kinds for part in _PARTS]
            more = ["excess_harmonic", "interpolate", "memory"]
            more += ["eigenvalues"] if method == "implicit" else []
            runtime = ["clear", "failure", "reserve", "used"]
            expected = [], {*functions, *more, *runtime}
            assert interface(browsed.page, engine(method, d)) == expected


_SENTENCE = """([name, problem]) => {
  const engine = new Engine(new WebAssembly.Module(modules[name]), shared);
  const said = [];
  for (const one of [problem.bad, problem.good]) {
    try {
      const chunks = [...engine.run(one)];
      said.push(chunks.at(-1).times.at(-1));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      said.push(error.message);
    }
  }
  return said;
}"""


def said(browsed, **wrong):
    """What an engine says of a problem with something wrong, and then of the right one."""
    good = problem(Case(n=12, d=2, beta=9.0, t_end=1e6, options={"sums": "direct"}))
    name = browsed.load("implicit", 2)
    return browsed.page.evaluate(_SENTENCE, [name, {"bad": {**good, **wrong}, "good": good}])


def test_too_many_tokens_for_memory_is_a_sentence(browsed):
    many = [1.0, 0.0] * 20_000
    expected = "the run needs more memory than a page may use; choose fewer tokens"
    assert said(browsed, tokens=many) == [expected, 1e6]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e300])
def test_numbers_that_are_none_are_a_sentence(browsed, wrong):
    short = "the steps became too short at t=0.00; choose a smaller T"
    refused = "the engine cannot compute this; choose other settings"
    expected = short if wrong != wrong else refused
    assert said(browsed, query=[wrong, 0.0, 0.0, wrong]) == [expected, 1e6]


def test_an_engine_runs_again_and_again_in_the_same_memory(browsed):
    """200 runs of changing size: memory is that of the largest, and the last is right."""
    name = browsed.load("explicit", 2)
    runs = [problem(Case(n=n, d=2, beta=9.0, t_end=5.0)) for n in (8, 40, 24)]
    sizes = browsed.page.evaluate(
        """([name, runs]) => {
          const engine = new Engine(new WebAssembly.Module(modules[name]), shared);
          return [...Array(200).keys()].map((i) => {
            const chunks = [...engine.run(runs[i % runs.length])];
            return [engine.calls.memory.buffer.byteLength, chunks.at(-1).times.at(-1)];
          });
        }""",
        [name, runs],
    )
    assert {t for _, t in sizes} == {5.0}
    assert {size for size, _ in sizes[2:]} == {sizes[1][0]}


def test_any_moment_of_a_step(browsed):
    """Dense output in the page is that of `run.at`."""
    for method, T in (("explicit", 10.0), ("implicit", 1e6)):
        case = Case(n=12, d=3, beta=9.0, t_end=T, options={"method": method})
        x0 = pk.sphere.uniform(case.n, case.d, seed=case.seed)
        run = pk.simulate(pk.Attention(d=3, beta=9.0), x0, T, method=method)
        i, theta = len(run.times) // 2, 0.3
        result = browsed.page.evaluate(
            """([name, theta, start, end, dense]) => [
              ...new Engine(new WebAssembly.Module(modules[name]), shared)
                .interpolate(theta, start, end, dense, 3)]""",
            [
                browsed.load(method, 3),
                theta,
                *(part.ravel().tolist() for part in (*run.tokens[i - 1 : i + 1], run.dense[i - 1])),
            ],
        )
        t = run.times[i - 1] + theta * (run.times[i] - run.times[i - 1])
        np.testing.assert_allclose(np.reshape(result, (12, 3)), run.at(t), atol=1e-13)
