"""The ODE of equiangular tokens is seen, and a wrong one refuted."""

import numpy as np
import pytest
from support.experiments import measured

from parkade.experiments.claims.common.simplex import overlap, simplex
from parkade.experiments.claims.field import equiangular

# With d = 5 for 4 tokens: an engine that other tests need as well.
CASES = tuple(case._replace(d=5) if case.d == 4 else case for case in equiangular.CASES)
evidence = measured(equiangular, CASES=CASES)


def test_the_overlap_follows_the_ode(evidence, presentable):
    assert evidence.verdict == "agrees"
    numbers = evidence.numbers
    assert numbers["largest_difference"] < 1e-8
    assert len(numbers["cases"]) == equiangular.QUICK
    # Uniform tokens come closer to it in more dimensions.
    assert numbers["random_tokens"]["512"] < 0.7 * numbers["random_tokens"]["32"]
    presentable(equiangular.CLAIM, evidence)


def test_a_wrong_ode_is_refuted(distort, verdict):
    distort(equiangular, "slope", lambda slope: 1.00001 * slope)
    one = {"CASES": equiangular.CASES[2:3], "random_tokens": lambda setup: {}}
    assert verdict(equiangular, **one) == "contradicts"


@pytest.mark.parametrize("rho", [-0.25, 0.0, 0.3])
def test_simplices(rho):
    x = simplex(5, rho, np.random.default_rng(1), 7)
    assert np.allclose(np.linalg.norm(x, axis=1), 1, atol=1e-14)
    assert np.allclose(overlap(x), [rho, 0], atol=1e-14)
