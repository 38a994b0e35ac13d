"""The conjecture for planes is seen, and a wrong limit too."""

import numpy as np
from support.experiments import fewer, measured

from parkade import theory
from parkade.experiments.claims.causal import one_point

quick = fewer(2)  # half of the runs
evidence = measured(one_point, DIMENSIONS=(3, 5, 8))  # whose engines other tests need as well


def test_every_run_ends_at_the_projection(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["ends"]["reached"] == evidence.numbers["runs"] == 15
    assert evidence.numbers["exceptions"] == []
    assert 0.35 < evidence.numbers["least success"] < 0.45
    presentable(one_point.CLAIM, evidence)


def test_the_matrices_are_those_of_the_conjecture():
    rng = np.random.default_rng(0)
    dims = set()
    for _ in range(50):
        final = theory.final_configuration(one_point.value_matrix(6, rng))
        assert (final.kind, final.status) == ("one point", "conjecture")
        dims.add(final.dim)
    assert dims == {2, 3, 4, 5}


def test_another_point_is_refuted(distort, verdict):
    distort(theory.FinalConfiguration, "limit", np.negative)
    # At p itself the tokens rest, but p is one of a circle of such points: where earlier
    # tokens keep them they return, so that it is a stable place other than the predicted.
    assert verdict(one_point, DIMENSIONS=(3,)) == "contradicts"
