"""The outputs of long contexts are as claimed, and wrong ones refuted."""

import pytest
from support.experiments import measured

from parkade.experiments.claims.field import long_context

evidence = measured(long_context)


def test_the_three_phases(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["layer_minus_closed_form"] < 1e-12
    assert len(evidence.numbers["cosines"]) == 15
    assert evidence.numbers["cosine_without_overlap"]["cosine"] < 0.01
    presentable(long_context.CLAIM, evidence)


@pytest.mark.parametrize("part", ["limit", "cosine", "exponent"])
def test_what_is_wrong_is_refuted(distort, verdict, part):
    assert verdict(long_context, SIZES=(20, 20)) == "agrees"
    distort(long_context, part, lambda value: 1.03 * value)
    assert verdict(long_context) == "contradicts"


def test_the_mean_of_both_at_the_critical_point():
    assert long_context.limit(0.5, 1.0) == 0.8
    assert long_context.cosine(1e12, 0.5, 1.0) == pytest.approx(0.8, abs=1e-9)
