"""Engines for transformers in the browser do what native ones do, with all parts the page offers.

`make parity` compares the whole grid, of which a few models of each kind are compared here.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.lowered import engine, lowered
from support.wasm import PARTS, Browsed, Named, Offered, differences, interface, replaced

import parkade as pk
from parkade.solve.options import Options
from parkade.solve.solver import Solver

ALL = bool(os.environ.get("PARKADE_PARITY"))


def offered(t_end, n=16, d=2, **settings):
    return Offered(n=n, d=d, beta=4.0, t_end=t_end, settings=settings)


def smooth(activation, t_end):
    mlp = pk.MLP.random(3, 8, seed=1, activation=activation)
    model = pk.Transformer([pk.Head(d=3, beta=4.0)], mlp=mlp)
    return Named(n=12, d=3, beta=4.0, t_end=t_end, name=activation, layer=model)


FEW = [
    offered(1e60, heads=2),
    offered(1e60, d=3, heads=3, rank=2, encoding="rope"),
    offered(1e60, norm="pre"),
    offered(1e6, d=3, norm="peri", encoding="alibi"),
    offered(1e6, norm="ngpt"),
    offered(1e6, norm="sqrt", mask="window", reach=5),
    offered(1e6, norm="mix"),  # two models
    offered(20.0, n=40, d=3, heads=4),
    offered(0.3, mlp=8, mask="full"),  # later, kinks of the MLP make steps depend on rounding
    smooth("gelu", 20.0),
    smooth("silu", 1e6),
    offered(20.0, norm="pre", mask="prefix", reach=4, encoding="alibi", slope=0.5),
    offered(20.0, growth=2.0),  # β(t), one plain head
    offered(1e4, growth=2.0),
    offered(1e3, n=8, d=3, heads=2, growth=1.0),
    offered(3.0, n=8, noise=0.1),
    offered(3.0, n=8, d=3, noise=0.05, heads=2, growth=1.0),
]


RESTING = [
    offered(1e30, n=40, heads=2),
    smooth("silu", 1e6),
    offered(1e8, n=30, d=3, heads=2, mask="window", reach=12, encoding="alibi", slope=0.1),
    Offered(n=40, d=2, beta=36.0, t_end=1e17, settings={"norm": "pre", "mask": "window"}),
    offered(1e30, n=24, d=3, norm="peri"),
    offered(1e6, n=24, heads=2, growth=2.0),
]
"""Models in which tokens rest, with lengths and without, and from one model to the next."""


@pytest.fixture(scope="module")
def browsed(new_page):
    return Browsed(new_page())


@pytest.mark.parametrize("case", FEW, ids=str)
def test_the_same_run(browsed, case):
    assert differences(browsed, case) == []


@pytest.mark.parametrize("case", RESTING, ids=str)
def test_the_same_run_with_tokens_at_rest(browsed, case):
    assert differences(browsed, case) == []
    x0 = pk.sphere.uniform(case.n, case.d, seed=case.seed)
    assert pk.simulate(case.model(), x0, case.t_end, times="final").stats.rested > 0


def test_a_single_token_that_moves(browsed):
    """Its products with the matrices of an MLP are those of a vector."""
    case = offered(1e4, d=3, mlp=8)
    assert differences(browsed, case, strict=False) == []
    x0 = pk.sphere.uniform(case.n, case.d, seed=case.seed)
    assert pk.simulate(case.model(), x0, case.t_end, times="final").stats.rested == case.n - 1


# Without MLPs: steps across the kinks of random ones depend on rounding, in native runs too.
GRID = [case for case in PARTS if not case.settings.get("mlp")]


@pytest.mark.skipif(not ALL, reason="make parity does it")
@pytest.mark.parametrize("case", GRID if ALL else (), ids=str)
def test_the_same_grid(browsed, case):
    assert differences(browsed, case, strict=False) == []


def test_a_wrong_constant_is_noticed(new_page):
    """One digit of one coefficient changes what is compared, with and without noise."""
    for case, right, wrong in (
        (FEW[0], 0.9, 0.91),  # the safety factor of implicit steps
        (FEW[-2], 2.0**-32, 2.0**-32 * 1.000001),  # what makes numbers of random words
    ):
        assert differences(Browsed(new_page(), replaced(right, wrong)), case)


@pytest.mark.parametrize("method", ["explicit", "implicit", "splitting"])
def test_engines_import_nothing(browsed, method):
    functions = ["begin_field", "advance_field", "interpolate", "memory"]
    functions += [] if method == "splitting" else ["resume_field"]
    functions += ["eigenvalues"] if method == "implicit" else []
    expected = [], {*functions, "clear", "failure", "reserve", "used"}
    assert interface(browsed.page, engine(method)) == expected


@pytest.mark.parametrize(("method", "T"), [("explicit", 10.0), ("implicit", 1e6)])
def test_any_moment_of_a_step(browsed, method, T):
    """Dense output in the page is that of `run.at` and `run.radii_at`."""
    model = pk.Transformer([pk.Head(d=3, beta=4.0)], norm="pre")
    run = pk.simulate(model, pk.sphere.uniform(12, 3, seed=1), T, method=method)
    i, theta = len(run.times) // 2, 0.3
    states = np.concatenate([run.tokens, np.log(run.radii)[..., None]], axis=-1)
    result = browsed.page.evaluate(
        """([name, theta, start, end, dense]) => [
          ...new Engine(new WebAssembly.Module(modules[name]), shared)
            .interpolate(theta, start, end, dense, 3, 4)]""",
        [
            browsed.load(method),
            theta,
            *(part.ravel().tolist() for part in (*states[i - 1 : i + 1], run.dense[i - 1])),
        ],
    )
    state = np.reshape(result, (12, 4))
    t = run.times[i - 1] + theta * (run.times[i] - run.times[i - 1])
    np.testing.assert_allclose(state[:, :3], run.at(t), atol=1e-13)
    np.testing.assert_allclose(np.exp(state[:, 3]), run.radii_at(t), rtol=1e-12)


def test_too_many_tokens_for_memory_is_a_sentence(browsed):
    case = offered(1e6, heads=2)
    x0 = pk.sphere.uniform(case.n, case.d, seed=1)
    problem = lowered(Solver(case.model(), Options(case.t_end)), x0)
    said = browsed.page.evaluate(
        """([name, problem]) => {
          const engine = new Engine(new WebAssembly.Module(modules[name]), shared);
          try { [...engine.run({ ...problem, tokens: Array(40000).fill(Math.SQRT1_2) })]; }
          catch (error) { if (error instanceof Failure) return error.message; throw error; }
        }""",
        [browsed.load("implicit"), problem],
    )
    assert said == "the run needs more memory than a page may use; choose fewer tokens"
