"""Plans of transformers in the page are those of the server: arrays, reasons, and what follows."""

from __future__ import annotations

import numpy as np
import pytest
from support.fieldplanner import FieldPlanned, native, settings, wanted
from support.lowered import lowered

from parkade.analysis.clusters import default_radius

SKEW = "1,-1;1,1"
ALL = [
    settings(heads=2),
    settings(heads=3, rank=2, d=3, sample=7, V="random:3", Q="random:1", K="random:2"),
    settings(heads=8, rank=3, d=3, sample=2**40, T=1e6),
    settings(norm="pre", T=1e60),
    settings(norm="peri", d=3, V="1,0.5,-1"),
    settings(norm="ngpt", V="1,0.3;0.3,0.5", T=1e6),
    settings(norm="sqrt", encoding="rope", heads=2, rank=2),
    settings(norm="mix", T=1e3),
    settings(norm="mix", T=1e3, V=SKEW),
    settings(mlp=8, d=3, sample=3),
    settings(mlp=8, gain=0.0, mask="window", reach=3),
    settings(mask="prefix", reach=1, T=1e6),
    settings(mask="prefix", reach=4, encoding="alibi", slope=0.3, T=1e3),
    settings(mask="full", norm="pre", T=1e3),
    settings(V=SKEW, encoding="rope", T=1e4),
    settings(V=SKEW, heads=2, rank=2, T=1e4),
    settings(V="1,1;0,1", norm="pre", T=1e4),  # defective
    settings(V="1,2;2,4", heads=3, T=1e4),  # of rank one
    settings(V="0", heads=2, mlp=4),
    settings(noise=0.1, T=2.0),
    settings(noise=2.0, heads=2, d=3, growth=1.0, T=2.0),
    settings(growth=2.0, heads=2, T=50.0),
]
PLAIN = [  # one head whose β grows
    settings(growth=2.0, T=30.0),
    settings(growth=2.0, T=1e4),
    settings(growth=0.5, T=1e3, V=SKEW),
    settings(growth=2.0, T=1e3, V="1,1;0,1"),  # defective
]


def name(case):
    usual = settings().to_dict()
    return ", ".join(f"{k}={v}" for k, v in case.to_dict().items() if v != usual[k])


@pytest.fixture(scope="module")
def planned(new_page):
    return FieldPlanned(new_page())


def same(result, expected, where="", atol=1e-13):
    """Whether two nests of lists and numbers are the same up to rounding."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            same(result[key], value, f"{where}.{key}", atol)
    elif isinstance(expected, list) and expected and isinstance(expected[0], dict):
        assert len(result) == len(expected), where
        for i, (one, other) in enumerate(zip(result, expected, strict=True)):
            same(one, other, f"{where}[{i}]", atol)
    elif expected is None or isinstance(expected, (str, bool)):
        assert result == expected or (expected is None and result == "Infinity"), where
    else:
        np.testing.assert_allclose(
            np.array(result, float), np.array(expected, float), rtol=1e-11, atol=atol, err_msg=where
        )


def comparable(problem):
    """A problem with the value matrices of heads in place of their factors, which may differ."""
    for one in problem.get("pieces", [problem]):
        if "field" in one:
            field = one["field"]
            values, outputs = (
                np.reshape(field[key]["values"], field[key]["shape"])
                for key in ("values", "outputs")
            )
            heads = max(1, field["slopes"]["shape"][0])
            r = len(values) // heads
            field["V"] = [
                float(x)
                for h in range(heads)
                for x in (outputs[:, h * r : (h + 1) * r] @ values[h * r : (h + 1) * r]).ravel()
            ]
            del field["values"], field["outputs"]
    return problem


@pytest.mark.parametrize("case", ALL, ids=name)
def test_the_same_problem(planned, case):
    plan = planned.plan(case)
    solver, run = native(case)
    chosen = solver.plan(case.n)
    assert (plan["method"], plan["reason"]) == (chosen.method, chosen.reason)
    assert plan["engine"] == run.stats.engine
    assert plan["radius"] == pytest.approx(default_radius(case.model), rel=1e-12)
    same(plan["frame"]["spin"], chosen.frame.spin.ravel().tolist(), "spin")
    signs = np.sign(
        np.sum(np.reshape(plan["frame"]["basis"], (case.d,) * 2) * chosen.frame.basis, 0)
    )
    if (signs == 1).all():
        problem = lowered(solver, case.start, case.seed)
        same(comparable(plan["problem"]), comparable(problem))
    assert case.d == 2 or (signs == 1).all()


@pytest.mark.parametrize("case", [*ALL, *PLAIN], ids=name)
def test_the_same_end(planned, case):
    result = planned.follow(case)
    _, run = native(case)
    assert (result["time"], result["method"]) == (case.T, run.stats.method)
    kinks = case.mlp and case.gain  # which make steps depend on rounding
    if not kinks:
        assert (result["steps"], result["rejected"]) == (run.stats.steps, run.stats.rejected)
    if not run.spin.any():
        np.testing.assert_allclose(result["tokens"], run.final, atol=1e-5 if kinks else 1e-11)


def test_frozen_tokens_beside_parts_are_refused(planned):
    said = planned.page.evaluate(
        "(wanted) => { try { planner.plan(wanted); } catch (error) { return error.message; } }",
        wanted(settings(heads=2, frozen="renyi", n=40)),
    )
    assert said == "pages have no engine for frozen tokens beside these parts; choose frozen none"
