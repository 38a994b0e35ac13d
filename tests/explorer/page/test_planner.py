"""Plans made in the browser are those that native code makes, and so are the runs that follow."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
from support.explorer import unpacked
from support.lowered import lowered, module
from support.planner import Planned, Setting, known_until, unlike
from support.wasm import interface, replaced

import parkade as pk
from parkade.explorer.scenes.compute import solver_within
from parkade.explorer.settings.limits import Limits
from parkade.explorer.settings.schema import FieldError
from parkade.explorer.settings.settings import Settings
from parkade.model import matrices
from parkade.runs.rotation import turn
from parkade.solve.options import Hooks

VALUES = {
    2: [
        1.0,
        -1.0,
        [1.0, 0.5],
        [[1.0, 0.3], [0.3, 0.5]],  # symmetric
        [[1.0, -1.0], [1.0, 1.0]],  # turns all tokens
        [[1.0, 1.0], [0.0, 1.0]],  # defective
        [[2.0, 1.0], [-1.0, 0.5]],
        [[0.0, 0.0], [1.0, 0.0]],  # lower triangular
        5,
    ],
    3: [
        1.0,
        -1.0,
        [1.0, 1.0, -1.0],
        [[1.0, 0.3, 0.1], [0.3, 0.5, 0.0], [0.1, 0.0, 0.2]],
        [[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]],
        [[2.0, 1.0, 0.0], [-1.0, 0.5, 0.3], [0.2, 0.1, 0.7]],
        [[1.0, 0.0, 0.0], [0.5, 0.2, 0.0], [0.1, 0.0, 0.3]],
        6,
    ],
}
THOROUGH = "PARKADE_FUZZ" in os.environ
"""Whether each V is combined with each β, or with every third one."""

LENGTHS = (1.0, 20.0, 1e3, 1e6, 1e60)


def _grid():
    for d, values in VALUES.items():
        for i, V in enumerate(values):
            for j, beta in enumerate((0.0, 1.0, 9.0, 64.0, 256.0)):
                if (i + j) % 3 != 1 and not THOROUGH:
                    continue
                common = {"d": d, "V": V, "beta": beta}
                yield Setting(n=200, T=LENGTHS[(i + j) % 5], seed=i, **common)
                yield Setting(n=64, T=LENGTHS[(i + 2 * j) % 5], mask="full", seed=j, **common)
                kind = ("renyi", "strong")[(i + j) % 2]
                yield Setting(n=100, T=LENGTHS[(2 * i + j) % 5], frozen=kind, c=5.0, **common)
        for V in (1.0, 7):
            yield Setting(n=100, d=d, beta=16.0, T=1e5, V=V, Q=3, K=4)
            yield Setting(n=300, d=d, beta=16.0, T=10.0, V=V, Q=2.0, K=0.5)
            yield Setting(n=100, d=d, beta=16.0, T=1e5, V=V, Q=[1.0, 2.0, 3.0][:d], mask="full")
            yield Setting(n=100, d=d, beta=16.0, T=10.0, V=V, Q=-1.0)
    yield Setting(n=1, d=2)
    yield Setting(n=500, d=2, beta=64.0, T=1e6, mask="full")
    yield Setting(n=2000, d=3, beta=2.0, T=5.0)
    yield Setting(n=500, d=3, beta=4.0, T=1e60, tol=1e-10)


GRID = [one for one in _grid() if len(one.held) < one.n]


@pytest.fixture(scope="module")
def planned(new_page):
    return Planned(new_page())


def drawn(planned, name, n, d, *rest):
    """What the module draws, to the last bit."""
    text = planned.page.evaluate(
        "(all) => $base64.base64(new Uint8Array(planner.filled(...all).buffer))",
        [name, n, d, *rest],
    )
    return unpacked(text, float, n, d)


@pytest.mark.parametrize("d", [2, 3])
def test_the_same_random_numbers(planned, d):
    """Those of NumPy, bit for bit; 200 000 of them are enough for the tails of the normal law."""
    seeds = np.random.default_rng(d).integers(2**53, size=20).tolist()
    sizes = [1, 2, 7, 100, 2000]
    for i, seed in enumerate([0, 1, 2**32 - 1, 2**32, 2**53 - 1, *seeds]):
        n = sizes[i % len(sizes)]
        expected = pk.sphere.uniform(n, d, seed)
        np.testing.assert_array_equal(drawn(planned, "draw", n, d, seed), expected)
        for name in "QKV":
            result = drawn(planned, "matrix", d, d, seed, ord(name))
            np.testing.assert_array_equal(result, matrices.seeded(name, seed, d))
    many = drawn(planned, "draw", 100_000, d, 11)
    np.testing.assert_array_equal(many, pk.sphere.uniform(100_000, d, 11))


def test_the_same_plans(planned):
    """The start, centres, radii, method, reason, frame, sums and arrays."""
    result = planned.plans(GRID)
    wrong = {
        str(one): names
        for one, plan in zip(GRID, result, strict=True)
        if (names := unlike(one, plan))
    }
    assert wrong == {}
    assert {plan["sums"] for plan in result} == {"direct", "harmonic"}
    assert len({plan["reason"] for plan in result}) == 7  # all verdicts there are


def test_a_wrong_constant_is_noticed(new_page):
    some = [Setting(n=200, T=T) for T in (500.0, 1e3, 2e3, 4e3)]
    result = Planned(new_page(), replaced(0.31, 0.031)).plans(some)
    assert any(unlike(one, plan) for one, plan in zip(some, result, strict=True))


RUNS = [
    Setting(n=200, d=2, beta=64.0, T=100.0),
    Setting(n=64, d=2, beta=16.0, T=1e60),
    Setting(n=32, d=2, beta=9.0, T=1e20, V=[[1.0, -1.0], [1.0, 1.0]]),
    Setting(n=40, d=2, beta=9.0, T=1e6, frozen="renyi"),
    Setting(n=24, d=2, beta=4.0, T=1e8, mask="full"),
    Setting(n=32, d=3, beta=9.0, T=1e60, V=[[1.0, 0.3, 0.1], [0.3, 1.0, 0.0], [0.1, 0.0, 0.2]]),
    Setting(n=40, d=3, beta=4.0, T=20.0, V=5, Q=3, K=4),
    Setting(n=32, d=3, beta=4.0, T=1e4, V=-1.0),
]


@pytest.mark.parametrize("setting", RUNS, ids=str)
def test_the_same_runs(planned, setting):
    """Planned and computed in the page: the same steps and tokens, and as far to be trusted."""
    solver, x0 = setting.solver(**({"sums": "direct"} if setting.Q != 1.0 else {}))
    native = solver.run(x0, Hooks(alone=False))
    result = planned.run(setting)
    plan = solver.plan(len(x0))
    assert (result["steps"], result["rejected"]) == (native.stats.steps, native.stats.rejected)
    basis = np.reshape(result["plan"]["frame"]["basis"], (setting.d, setting.d))
    end = np.reshape(result["end"], (-1, setting.d)) @ basis.T
    still = native.final if not plan.frame.spin.any() else _stopped(native)
    np.testing.assert_allclose(end, still, atol=1e-12)
    assert float(result["trusted"]) == pytest.approx(native.trusted_until, rel=1e-6)
    phase = float(result["plan"]["phase_known_until"])
    assert phase == pytest.approx(known_until(setting), rel=1e-12)


def _stopped(run):
    """The last tokens in the frame that rotates with them."""
    return turn(-run.spin, run.times[-1:], run.tokens[-1:])[0]


def test_direct_sums_instead_of_harmonic_ones(planned):
    """As for a run whose harmonic sums lose accuracy."""
    setting = Setting(n=300, d=2, beta=16.0, T=5.0, V=-1.0)
    (plan,) = planned.plans([setting])
    assert plan["sums"] == "harmonic"
    result = planned.run(setting, direct=True)["plan"]
    expected = lowered(*setting.solver(sums="direct"))
    assert (result["sums"], result["engine"]) == ("direct", "direct sums, tiles")
    assert result["problem"]["table"] is None
    for name in ("accuracy", "floor"):
        assert result["problem"][name] == pytest.approx(expected[name], rel=1e-13)


def test_implicit_steps_instead_of_explicit_ones(planned):
    """As for a run whose explicit steps become too short, where that is possible."""
    asked = """(wanted) => {
      const found = planner.instead(planner.plan(wanted), wanted);
      return found && plain([found.method, found.reason, found.sums, found.problem.value]);
    }"""
    V = [[1.0, 0.3], [0.3, 0.5]]
    for setting in (Setting(n=300, T=20.0, V=V), Setting(n=30, T=20.0, mask="full")):
        solver, x0 = setting.solver()
        other = solver._instead(solver.plan(len(x0)), len(x0))
        *texts, value = planned.page.evaluate(asked, setting.wanted())
        assert texts == [other.method, other.reason, other.sums.name]
        np.testing.assert_allclose(np.abs(value), np.abs(other.frame.V.ravel()), atol=1e-15)
    turning = [[1.0, -1.0], [1.0, 1.0]]
    for setting in (
        Setting(n=600, T=20.0, mask="full"),  # too many tokens to couple them
        Setting(n=30, T=20.0, V=turning, Q=[1.0, 2.0]),  # they never rest
        Setting(n=30, T=1e60),  # implicit already
    ):
        solver, x0 = setting.solver()
        assert solver._instead(solver.plan(len(x0)), len(x0)) is None
        assert planned.page.evaluate(asked, setting.wanted()) is None


def test_runs_that_would_take_too_many_steps(planned):
    """The numbers in the server's sentence."""
    turning = "1,-1,0;1,1,0;0,0,0"
    for T, Q in ((1e3, "I"), (1e8, "1,2,3"), (1e12, "1,2,3")):
        settings = Settings(n=100, d=3, T=T, V=turning, Q=Q)
        wanted = Setting(
            n=100, d=3, T=T, V=[[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0] * 3],
            Q=1.0 if Q == "I" else [1.0, 2.0, 3.0],
        )  # fmt: skip
        (plan,) = planned.plans([dataclasses.replace(wanted, c=settings.c)])
        steps, longest = plan["steps"], plan["longest"]
        if 100 * steps <= Limits().token_steps:
            solver_within(Limits(), settings)
            continue
        with pytest.raises(FieldError) as refused:
            solver_within(Limits(), settings)
        assert f"about {steps:.2g} steps of 100 tokens" in str(refused.value)
        assert str(refused.value).endswith(f"choose T up to {longest:.2g}")
    assert 100 * steps > Limits().token_steps  # the last one is refused


def test_no_token_is_left(planned):
    """If all tokens are frozen, there is nothing to plan."""
    setting = Setting(n=3, d=3, beta=1e4, c=0.01, frozen="renyi")
    (plan,) = planned.plans([setting])
    assert plan["held"] == [0, 1, 2]
    assert "problem" not in plan


def test_the_module_imports_nothing(planned):
    functions = ["choose", "draw", "matrix", "measure", "park"]
    runtime = ["clear", "failure", "memory", "reserve", "used"]
    assert interface(planned.page, module("plan")) == ([], {*functions, *runtime})
